"""What the roles before the plan found, told to the planner within a limit: verdict first, then ways, facts, notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prd2pr.core.judgement.research import ResearchAnswer
from prd2pr.core.judgement.why import Ruling, WhyAnswer
from prd2pr.core.memory.records import LibraryNote, SpikeRecord
from prd2pr.core.run_words import joined

BRIEF_LIMIT = 6_000  # characters: 1,500 tokens


@dataclass(frozen=True)
class Findings:
    why: WhyAnswer | None = None
    ruling: Ruling | None = None
    research: ResearchAnswer | None = None
    libraries: Sequence[LibraryNote] = ()
    spikes: Sequence[SpikeRecord] = ()


def briefing(found: Findings, limit: int = BRIEF_LIMIT) -> str:
    return "\n".join(joined(_lines(found), limit))


def _lines(found: Findings) -> Iterator[str]:
    if found.why:
        yield f"Purpose: {found.why.purpose}"
    if found.ruling and found.ruling.verdict == "simplify":
        yield f"Plan less, since {found.ruling.rule}: {found.ruling.reason}"
    for spike in found.spikes:
        yield f"Tried out: {spike.question} {'It works' if spike.viable else 'It does not work'}: {spike.result}"
        if spike.lessons:
            yield f"  {spike.lessons}"
    if found.research:
        chosen = found.research.chosen
        yield f"Way to go, {chosen.name}: {chosen.how} ({found.research.because})"
        yield from (f"There already: {each.path}: {each.what}" for each in found.research.prior_art)
        yield f"Its risks: {chosen.risks}"
        tried = {spike.question for spike in found.spikes}
        unknown = (each.question for each in found.research.unknowns if each.question not in tried)
        yield from (f"Nobody knows yet: {each}" for each in unknown)
    for note in found.libraries:
        yield f"{note.library} {note.version}: {note.content}"
    if found.why:
        yield from (f"Open: {each}" for each in found.why.questions)
