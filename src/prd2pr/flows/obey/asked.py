"""A question to the branch: what it is, and where it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

if TYPE_CHECKING:
    from prd2pr.core.commands import Command


@dataclass(frozen=True)
class Asked:
    session: Session
    state: BranchState
    command: Command
