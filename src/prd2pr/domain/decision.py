"""A decision by a person, a command or an event, with all data that `verify` needs to compute its effect again."""

from __future__ import annotations

from prd2pr.domain.records import Epic, Record, Story

BOT = "prd2pr"  # the author of decisions without a person: events, and `approval: none`


class Decision(Record):
    """A decision, stored as the evidence of a note. `verify` accepts only the changes that follow from it."""

    command: str  # a command of the state machines ("approve", "tdd abort") or an event ("stories wait for approval")
    by: str
    at: str
    text: str = ""  # advice, feedback or a reason given by the person
    stories: tuple[str, ...] = ()  # ids of the stories concerned
    number: int | None = None
    head: str = ""  # for an approval: the branch's head when it was given
    one_by_one: bool = False  # for an approval by `/tdd next`, which does not start a run
    epics: tuple[Epic, ...] = ()  # epics that the decision adds
    added: tuple[Story, ...] = ()
    questions: tuple[str, ...] = ()  # the role's questions about its additions
    assumptions: tuple[str, ...] = ()
    replans: bool = False  # for an answer, which earlier versions only added to the stories
    applies: bool = False  # for an answer that changes planned stories itself, so that only the rest is planned again
    circuit: str = ""  # the circuit to reset; empty for all

    @property
    def story(self) -> str:
        return self.stories[0] if self.stories else ""
