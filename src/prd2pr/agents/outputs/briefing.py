"""A text of limited length that tells the planner what earlier roles found: verdict, approach, facts and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prd2pr.agents.outputs.research import ResearchAnswer
from prd2pr.agents.outputs.why import WhyAnswer, WhyRuling
from prd2pr.domain.memory_records import LibraryNote, SpikeRecord
from prd2pr.domain.wording import limit_lines

BRIEF_LIMIT = 6_000  # characters, about 1,500 tokens


@dataclass(frozen=True)
class PrePlanFindings:
    why: WhyAnswer | None = None
    ruling: WhyRuling | None = None
    research: ResearchAnswer | None = None
    libraries: Sequence[LibraryNote] = ()
    spikes: Sequence[SpikeRecord] = ()


def format_briefing(found: PrePlanFindings, limit: int = BRIEF_LIMIT) -> str:
    return "\n".join(limit_lines(_briefing_lines(found), limit))


def _briefing_lines(found: PrePlanFindings) -> Iterator[str]:
    if found.why:
        yield f"Purpose: {found.why.purpose}"
    if found.ruling and found.ruling.verdict == "simplify":
        yield f"Plan less, because {found.ruling.rule}: {found.ruling.reason}"
    for spike in found.spikes:
        yield f"Experiment: {spike.question} {'It works' if spike.viable else 'It does not work'}: {spike.result}"
        if spike.lessons:
            yield f"  {spike.lessons}"
    if found.research:
        chosen = found.research.recommended_approach
        yield f"Recommended approach, {chosen.name}: {chosen.how} ({found.research.because})"
        yield from (f"Existing code: {each.path}: {each.what}" for each in found.research.prior_art)
        yield f"Its risks: {chosen.risks}"
        tried = {spike.question for spike in found.spikes}
        unknown = (each.question for each in found.research.unknowns if each.question not in tried)
        yield from (f"Not known yet: {each}" for each in unknown)
    for note in found.libraries:
        yield f"{note.library} {note.version}: {note.content}"
    if found.why:
        yield from (f"Open: {each}" for each in found.why.questions)
