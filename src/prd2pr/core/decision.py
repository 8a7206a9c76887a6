"""A decision as it was carried out: everything that its effect follows from, so that anyone can work it out again."""

from __future__ import annotations

from prd2pr.core.records import Epic, Record, Story

BOT = "prd2pr"  # who decides where nobody was asked: events, and `approval: none`


class Decision(Record):
    """Kept in the evidence of a note. `verify` derives from it what the note may change, and accepts nothing else."""

    command: str  # as in the machines' tables: "approve", "tdd abort"; or an event: "stories wait for approval"
    by: str
    at: str
    text: str = ""  # what the person gave: advice, feedback, the reason
    stories: tuple[str, ...] = ()  # that it is about; never left to be guessed
    number: int | None = None
    head: str = ""  # an approval: where the branch stood when it was given
    one_by_one: bool = False  # an approval by `/tdd next`: no order to go on comes with it
    epics: tuple[Epic, ...] = ()  # that it adds
    added: tuple[Story, ...] = ()
    questions: tuple[str, ...] = ()  # that the role asks about what it adds
    assumptions: tuple[str, ...] = ()
    circuit: str = ""  # that is reset; empty: all

    @property
    def story(self) -> str:
        return self.stories[0] if self.stories else ""
