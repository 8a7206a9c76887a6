"""What a package that brings a worker builds on (docs/workers.md). These names stay; where they come from may move.

A worker is any object with a `name` and a method `reply(request) -> Reply`. One that changes the files of
`request.workspace` by itself, instead of answering with calls of the request's tools, says so by `edits_itself = True`.
"""

from __future__ import annotations

from prd2pr.core.budget import CallEstimate
from prd2pr.core.records import Spend
from prd2pr.errors import ModelMissing, ModelProblem, ModelRefused
from prd2pr.models.plugins import GROUP, Opening
from prd2pr.ports import SUBMIT, Message, Model, Purpose, Reply, Request, Text, Tool, ToolResult, ToolUse

__all__ = [
    "GROUP",
    "SUBMIT",
    "CallEstimate",
    "Message",
    "Model",
    "ModelMissing",
    "ModelProblem",
    "ModelRefused",
    "Opening",
    "Purpose",
    "Reply",
    "Request",
    "Spend",
    "Text",
    "Tool",
    "ToolResult",
    "ToolUse",
]
