"""Before the plan: is it worth building, what is there to build on, which libraries, and what has to be tried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from prd2pr.agents.roles import DOCUMENTATION, RESEARCH, SPIKE, WHY, Output, Role
from prd2pr.core.judgement import documentation, research, why
from prd2pr.core.judgement.briefing import Findings, briefing
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.judgement.research import ResearchAnswer
from prd2pr.core.judgement.why import Known, Ruling, WhyAnswer
from prd2pr.core.layout import PRDS
from prd2pr.core.memory.records import Decision, LibraryNote
from prd2pr.core.memory.told import decision_lines
from prd2pr.core.memory.words import shared, telling_words
from prd2pr.core.policy import policy_for
from prd2pr.core.profiles import asks
from prd2pr.core.records import Backlog, Phase, Story
from prd2pr.core.run_words import joined
from prd2pr.core.wording import clip, plain
from prd2pr.errors import PrdRejected, StateProblem
from prd2pr.flows.consulting import Question, consult, digest, keep
from prd2pr.flows.learning import library_notes, spikes_kept
from prd2pr.flows.memory import records_of
from prd2pr.flows.recall import Recalled, fresh_notes, recalled
from prd2pr.flows.session import Session
from prd2pr.flows.spikes import try_out
from prd2pr.flows.workbench import Assignment, text_files
from prd2pr.repo.store import StateStore

MATERIAL_LIMIT = 4_000  # characters of decisions, and of other PRDs' stories
MOST_DECISIONS = 12


class Standpoint(NamedTuple):
    """Where planning stands."""

    head: str
    code_tree: str


def before_plan(session: Session, ground: Standpoint, *, trying: bool) -> str:
    """What the planner is told."""
    if not asks(WHY.name, session.config.profile):
        return recalled(session, ground.head, session.prd.text).text
    files = text_files(session, ground.code_tree)
    memory = recalled(session, ground.head, session.prd.text)
    reasons, ruling = ask_why(session, ground, files, memory)
    found = ask_research(session, ground, files, memory.text)
    notes = ask_documentation(session, ground, files)
    experiments = research.experiments(found) if found else ()
    if trying and asks(SPIKE.name, session.config.profile):
        try_out(session, ground.head, ground.code_tree, experiments)
    elif experiments:
        session.progress.say("note", text=f"would be tried out first: {'; '.join(e.question for e in experiments)}")
    spikes = tuple(spikes_kept(session, ground.head, 1, session.clock.now()))
    return briefing(Findings(reasons, ruling, found, notes, spikes))


def asked(
    session: Session, ground: Standpoint, role: Role[Output], material: Mapping[str, str], memory: str = ""
) -> Assignment[Output]:
    return Assignment(
        role=role,
        code_tree=ground.code_tree,
        head=ground.head,
        policy=policy_for(Phase.PLAN, session.prd.id),
        material={name: text for name, text in material.items() if text},
        memory=memory if role.recalls else "",
    )


# --- Why --------------------------------------------------------------------------------------------------------------


def ask_why(
    session: Session, ground: Standpoint, files: Mapping[str, str], memory: Recalled
) -> tuple[WhyAnswer | None, Ruling | None]:
    """Raises PrdRejected where its rules stop the PRD. A person's word in the PRD stands above them."""
    wanted = why.despite(session.prd.text)
    if wanted:
        verdict = f"proceed: a person wants it despite all: {clip(plain(wanted), 200)}"
        record = RoleRecord(role=WHY.name, at=session.clock.now(), about=session.prd.blob, verdict=verdict)
        keep(session, ground.head, record, session.prd.id)
        return None, None
    decisions = near_decisions(session, ground)
    others = other_stories(session, ground)
    known = Known(
        paths=frozenset(files),
        stories=frozenset(story.id for story in others),
        failures=frozenset(each.id for each in memory.found.failures),
        decisions=frozenset(each.id for each in decisions),
        requirements=frozenset(each.id for each in session.prd.requirements),
    )
    material = {
        "decisions that stand": "\n".join(joined(decision_lines(decisions), MATERIAL_LIMIT)),
        "stories of other PRDs": "\n".join(joined(map(story_line, others), MATERIAL_LIMIT)),
    }
    question = Question(
        asked(session, ground, WHY, material, memory.text),
        about=digest(session.prd.blob, ground.code_tree, *material.values(), memory.text),
        tidy=lambda answer: why.supported(answer, known),
        judge=lambda answer: why.ruled(answer).verdict,
    )
    answer = consult(session, question)
    assert answer is not None, "a role that may stop the work answers or raises"
    ruling = why.ruled(answer)
    if ruling.verdict in why.STOPPING:
        raise rejected(session, ruling)
    return answer, ruling


def rejected(session: Session, ruling: Ruling) -> PrdRejected:
    instead = "change it" if ruling.verdict == "reject" else "change what exists by a PRD that names it"
    return PrdRejected(
        f"{ruling.verdict}, since {ruling.rule}: {clip(plain(ruling.reason), 600)}",
        where=session.prd.path,
        remedy=f"{instead}, or put `despite: why you want it` at the top of {session.prd.path}: then it is planned",
    )


def near_decisions(session: Session, ground: Standpoint) -> tuple[Decision, ...]:
    """Those whose words the PRD shares most."""
    words = telling_words(session.prd.text)
    found = records_of(session.git, ground.head, Decision)
    return tuple(sorted(found, key=lambda each: -shared(words, f"{each.title} {each.text}"))[:MOST_DECISIONS])


def other_stories(session: Session, ground: Standpoint) -> tuple[Story, ...]:
    """Of PRDs that were built here before, as the base has them; the nearest first."""
    git = session.git
    names = {entry.path.removeprefix(f"{PRDS}/").partition("/")[0] for entry in git.entries(ground.head, PRDS)}
    stories = [
        story
        for name in sorted(names - {session.prd.id})
        for story in backlog_of(session, ground.head, name).stories
        if story.status == "done"
    ]
    words = telling_words(session.prd.text)
    return tuple(sorted(stories, key=lambda story: -shared(words, story_line(story))))


def backlog_of(session: Session, head: str, prd: str) -> Backlog:
    """What cannot be read is another PRD's trouble."""
    try:
        return StateStore(session.git, prd).load(head).backlog
    except StateProblem:
        return Backlog()


def story_line(story: Story) -> str:
    return f"{story.id}: {story.title}" + "".join(f"; {each.text}" for each in story.criteria)


# --- Research, Documentation ------------------------------------------------------------------------------------------


def ask_research(session: Session, ground: Standpoint, files: Mapping[str, str], memory: str) -> ResearchAnswer | None:
    question = Question(
        asked(session, ground, RESEARCH, {}, memory),
        about=digest(session.prd.blob, ground.code_tree, memory),
        tidy=lambda answer: research.found_there(answer, frozenset(files)),
        judge=lambda answer: answer.chosen.name,
    )
    return consult(session, question)


def ask_documentation(session: Session, ground: Standpoint, files: Mapping[str, str]) -> tuple[LibraryNote, ...]:
    """Only about what nobody has looked up in the last days."""
    wanted = documentation.libraries(session.prd, files)
    known = fresh_notes(session, ground.head)
    missing = documentation.missing(wanted, known)
    there = [known[name] for library in wanted if (name := documentation.canonical(library.name)) in known]
    if not missing:
        return tuple(there)
    listed = "\n".join(f"{library.name} {library.wanted}".strip() for library in missing)
    question = Question(
        asked(session, ground, DOCUMENTATION, {"libraries": listed}),
        about=digest(session.prd.blob, listed),
        tidy=lambda answer: documentation.asked_for(answer, missing),
        judge=lambda answer: ", ".join(each.library for each in answer.libraries) or "nothing to note",
    )
    if consult(session, question) is None:
        return tuple(there)
    return (*there, *library_notes(session, ground.head, 1, session.clock.now()))
