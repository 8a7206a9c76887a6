"""A decision with everything that determines its effect, so that `verify` can derive it again."""

from __future__ import annotations

from prd2pr.domain.records import Epic, Record, Story

BOT = "prd2pr"  # who decides without a person: events, and `approval: none`


class Decision(Record):
    """Stored in the evidence of a note. `verify` derives from it what the note may change, and accepts nothing else."""

    command: str  # as in the machines' tables: "approve", "tdd abort"; or an event: "stories wait for approval"
    by: str
    at: str
    text: str = ""  # from the person: advice, feedback, the reason
    stories: tuple[str, ...] = ()  # the stories concerned, always named
    number: int | None = None
    head: str = ""  # an approval: the head of the branch when it was given
    one_by_one: bool = False  # an approval by `/tdd next`: it does not start a run
    epics: tuple[Epic, ...] = ()  # added by it
    added: tuple[Story, ...] = ()
    questions: tuple[str, ...] = ()  # of the role, about what it adds
    assumptions: tuple[str, ...] = ()
    circuit: str = ""  # the circuit to reset; empty: all

    @property
    def story(self) -> str:
        return self.stories[0] if self.stories else ""
