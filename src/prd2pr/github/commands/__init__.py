"""Slash commands: `parser` reads them, `dispatch.HANDLERS` maps each one to its handler module.

A command that changes something makes one commit that also moves the cursor; a query is only answered. Offers
`execute`. May import workflow, planning, proof, verification, views, state and domain, and `github.messages`.
"""

from prd2pr.github.commands.dispatch import execute
from prd2pr.github.commands.request import CommandRequest, CommandResult

__all__ = ["CommandRequest", "CommandResult", "execute"]
