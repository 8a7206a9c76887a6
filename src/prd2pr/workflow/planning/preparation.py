"""Consult roles before the plan: whether to build the PRD, what exists, which libraries to use, what to try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from prd2pr.agents.outputs import documentation, research, why
from prd2pr.agents.outputs.briefing import PrePlanFindings, format_briefing
from prd2pr.agents.outputs.research import ResearchAnswer
from prd2pr.agents.outputs.why import KnownFacts, WhyAnswer, WhyRuling
from prd2pr.agents.roles import DOCUMENTATION, RESEARCH, SPIKE, WHY, Output, Role
from prd2pr.agents.task import RoleMaterial
from prd2pr.domain.costs.profiles import uses_model
from prd2pr.domain.memory_records import DecisionRecord, LibraryNote
from prd2pr.domain.records import Backlog, Phase, Story
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.wording import clean_line, clip, limit_lines
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import PrdRejected, StateProblem
from prd2pr.memory.commit import read_memory_records
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.index.embedding import find_embedder
from prd2pr.memory.prompt_text import render_decisions
from prd2pr.memory.search_terms import count_shared_words, extract_search_words
from prd2pr.memory.similarity import find_similar_decisions, find_similar_files
from prd2pr.state.layout import PRDS
from prd2pr.state.store import StateStore
from prd2pr.workflow.phases.lessons import make_library_notes, make_spike_records
from prd2pr.workflow.planning.spikes import run_spikes
from prd2pr.workflow.roles.consultation import RoleQuestion, consult, digest_parts, keep_role_record
from prd2pr.workflow.roles.recall import RecalledMemory, list_fresh_notes, recall_memory
from prd2pr.workflow.roles.role_runner import Assignment, read_text_files
from prd2pr.workflow.session import Session

MATERIAL_LIMIT = 4_000  # characters of decisions and of other PRDs' stories
MAX_DECISIONS = 12
MAX_NEAR_FILES = 10
NEAR_FILES = "files that may be about this"


class PlanBase(NamedTuple):
    """The commit and code tree on which planning is based."""

    head: str
    code_tree: str


def prepare_plan(session: Session, base: PlanBase, *, trying: bool) -> str:
    """Ask the roles before the plan, and return the briefing for the planner."""
    if not uses_model(WHY.name, session.config.profile):
        return recall_memory(session, base.head, session.prd.text).text
    files = read_text_files(session, base.code_tree)
    memory = recall_memory(session, base.head, session.prd.text)
    reasons, ruling = ask_why(session, base, files, memory)
    found = ask_research(session, base, files, memory.text)
    notes = ask_documentation(session, base, files)
    experiments = research.select_experiments(found) if found else ()
    if trying and uses_model(SPIKE.name, session.config.profile):
        run_spikes(session, base.head, base.code_tree, experiments)
    elif experiments:
        session.progress.say("note", text=f"a run would first try out: {'; '.join(e.question for e in experiments)}")
    spikes = tuple(make_spike_records(session, base.head, 1, session.clock.now()))
    return format_briefing(PrePlanFindings(reasons, ruling, found, notes, spikes))


def make_plan_assignment(
    session: Session, base: PlanBase, role: Role[Output], material: Mapping[str, str], memory: str = ""
) -> Assignment[Output]:
    return Assignment(
        role=role,
        code_tree=base.code_tree,
        head=base.head,
        policy=build_write_policy(Phase.PLAN, session.prd.id),
        material=RoleMaterial(
            memory=memory if role.uses_memory else "", texts={name: text for name, text in material.items() if text}
        ),
    )


# --- Why --------------------------------------------------------------------------------------------------------------


def ask_why(
    session: Session, base: PlanBase, files: Mapping[str, str], memory: RecalledMemory
) -> tuple[WhyAnswer | None, WhyRuling | None]:
    """Ask whether the PRD is worth building, and raise PrdRejected if not.

    `despite:` in the PRD overrides the answer.
    """
    override = why.read_override_reason(session.prd.text)
    if override:
        verdict = f"proceed: a person overrides the check: {clip(clean_line(override), 200)}"
        record = RoleRecord(role=WHY.name, at=session.clock.now(), about=session.prd.blob, verdict=verdict)
        keep_role_record(session, base.head, record, session.prd.id)
        return None, None
    decisions = find_related_decisions(session, base)
    others = list_other_stories(session, base)
    near = list_near_files(session, base)
    known = KnownFacts(
        paths=frozenset(files),
        stories=frozenset(story.id for story in others),
        failures=frozenset(each.id for each in memory.found.failures),
        decisions=frozenset(each.id for each in decisions),
        requirements=frozenset(each.id for each in session.prd.requirements),
    )
    material = {
        "decisions that stand": "\n".join(limit_lines(render_decisions(decisions), MATERIAL_LIMIT)),
        "stories of other PRDs": "\n".join(limit_lines(map(format_story_summary, others), MATERIAL_LIMIT)),
        NEAR_FILES: near,
    }
    question = RoleQuestion(
        make_plan_assignment(session, base, WHY, material, memory.text),
        about=digest_parts(session.prd.blob, base.code_tree, *material.values(), memory.text),
        tidy=lambda answer: why.drop_unsupported_facts(answer, known),
        judge=lambda answer: why.rule_on_prd(answer).verdict,
    )
    answer = consult(session, question)
    assert answer is not None, "a role that may block answers or raises"
    ruling = why.rule_on_prd(answer)
    if ruling.verdict in why.STOPPING_VERDICTS:
        raise make_rejection_error(session, ruling)
    return answer, ruling


def make_rejection_error(session: Session, ruling: WhyRuling) -> PrdRejected:
    instead = "change it" if ruling.verdict == "reject" else "write a PRD that changes what exists"
    return PrdRejected(
        f"{ruling.verdict}, since {ruling.rule}: {clip(clean_line(ruling.reason), 600)}",
        where=session.prd.path,
        remedy=f"{instead}, or add `despite: why you want it` at the top of {session.prd.path} to plan it anyway",
    )


def find_related_decisions(session: Session, base: PlanBase) -> tuple[DecisionRecord, ...]:
    """Return the decisions nearest in meaning to the PRD or, without vectors, those that share the most words."""
    words = extract_search_words(session.prd.text)
    found = read_memory_records(session.git, base.head, DecisionRecord)
    if found and find_embedder() is not None:
        with MemoryIndex.open(session.git, base.head, code=False) as index:
            near = {each.id: each for each in find_similar_decisions(index, session.prd.text, MAX_DECISIONS)}
        return tuple(sorted((each for each in found if each.id in near), key=lambda each: -near[each.id].score))
    return tuple(
        sorted(found, key=lambda each: -count_shared_words(words, f"{each.title} {each.text}"))[:MAX_DECISIONS]
    )


def list_near_files(session: Session, base: PlanBase) -> str:
    """Return the files nearest in meaning to the PRD, one per line; empty without vectors."""
    if find_embedder() is None:
        return ""
    with MemoryIndex.open(session.git, base.head) as index:
        near = find_similar_files(index, session.prd.text, MAX_NEAR_FILES)
    return "\n".join(limit_lines((f"{each.id}: {each.text}" for each in near), MATERIAL_LIMIT))


def list_other_stories(session: Session, base: PlanBase) -> tuple[Story, ...]:
    """Return finished stories of other PRDs on the base, most similar first."""
    git = session.git
    names = {entry.path.removeprefix(f"{PRDS}/").partition("/")[0] for entry in git.entries(base.head, PRDS)}
    stories = [
        story
        for name in sorted(names - {session.prd.id})
        for story in load_backlog(session, base.head, name).stories
        if story.status == "done"
    ]
    words = extract_search_words(session.prd.text)
    return tuple(sorted(stories, key=lambda story: -count_shared_words(words, format_story_summary(story))))


def load_backlog(session: Session, head: str, prd: str) -> Backlog:
    """Return another PRD's backlog, or an empty one if it cannot be read."""
    try:
        return StateStore(session.git, prd).load(head).backlog
    except StateProblem:
        return Backlog()


def format_story_summary(story: Story) -> str:
    return f"{story.id}: {story.title}" + "".join(f"; {each.text}" for each in story.criteria)


# --- Research, Documentation ------------------------------------------------------------------------------------------


def ask_research(session: Session, base: PlanBase, files: Mapping[str, str], memory: str) -> ResearchAnswer | None:
    material = {NEAR_FILES: list_near_files(session, base)}
    question = RoleQuestion(
        make_plan_assignment(session, base, RESEARCH, material, memory),
        about=digest_parts(session.prd.blob, base.code_tree, memory),
        tidy=lambda answer: research.drop_missing_prior_art(answer, frozenset(files)),
        judge=lambda answer: answer.recommended_approach.name,
    )
    return consult(session, question)


def ask_documentation(session: Session, base: PlanBase, files: Mapping[str, str]) -> tuple[LibraryNote, ...]:
    """Return notes on the PRD's libraries, asking only about those without a fresh note."""
    wanted = documentation.find_libraries(session.prd, files)
    known = list_fresh_notes(session, base.head)
    missing = documentation.find_undocumented_libraries(wanted, known)
    known_notes = [
        known[name] for library in wanted if (name := documentation.normalize_library_name(library.name)) in known
    ]
    if not missing:
        return tuple(known_notes)
    listed = "\n".join(f"{library.name} {library.wanted}".strip() for library in missing)
    installed = "\n\n".join(filter(None, (session.services.describe_library(each.name) for each in missing)))
    question = RoleQuestion(
        make_plan_assignment(session, base, DOCUMENTATION, {"libraries": listed, "as installed": installed}),
        about=digest_parts(session.prd.blob, listed, installed),
        tidy=lambda answer: documentation.keep_requested_libraries(answer, missing),
        judge=lambda answer: ", ".join(each.library for each in answer.libraries) or "nothing to note",
    )
    if consult(session, question) is None:
        return tuple(known_notes)
    return (*known_notes, *make_library_notes(session, base.head, 1, session.clock.now()))
