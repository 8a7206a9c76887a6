"""What a phase's gate will need, begun while the model thinks."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.cycle_machine import GATED
from prd2pr.core.records import UNTESTED_KINDS, Phase
from prd2pr.flows.attempts import Position
from prd2pr.flows.gather import suite_request
from prd2pr.flows.session import Session
from prd2pr.ports import OTHER_SEED, RED_AGAIN


def prepare(session: Session, position: Position, phase: Phase) -> None:
    """RED begins with the suite as it was. A design changes no code, so where RED follows at once it begins there."""
    untested = position.story.kind in UNTESTED_KINDS
    if phase is Phase.RED or (phase is Phase.DESIGN and session.goes_on and not untested):
        session.runner.begin(replace(suite_request(session.gathering, position.base_tree), later=RED_AGAIN))
    if phase in GATED:
        # In GREEN the story's tests run by themselves beside the suite, with another seed.
        for hash_seed in (0, OTHER_SEED) if phase is Phase.GREEN else (0,):
            session.runner.expect(hash_seed)
