"""Slash commands: `parser` reads them, and `dispatch.HANDLERS` maps each one to its handler.

A command that changes something makes one commit, which also moves the cursor; a query only gets a reply. Offers
`execute` and `dispatch.execute_on_github`. May import workflow, planning, proof, verification, views, state and domain,
and `github.context`, `github.messages` and `github.setup`.
"""

from prd2pr.github.commands.dispatch import execute
from prd2pr.github.commands.request import CommandRequest, CommandResult

__all__ = ["CommandRequest", "CommandResult", "execute"]
