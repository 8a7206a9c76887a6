"""The public API for packages that add a worker (docs/workers/plugins.md). These names do not change.

A worker is any object with a `name` and a method `reply(request) -> Reply`. A worker that edits the files of
`request.workspace` itself, instead of calling the request's tools, sets `edits_itself = True`.
"""

from __future__ import annotations

from prd2pr.agents.models.base import SUBMIT, Message, Model, Purpose, Reply, Request, Text, Tool, ToolResult, ToolUse
from prd2pr.agents.models.plugins import GROUP, Opening
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.records import Spend
from prd2pr.errors import ModelMissing, ModelProblem, ModelRefused

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
