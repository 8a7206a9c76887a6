"""The output of every verb that only reads, for branches made by an earlier version.

After an intended change: `PRD2PR_UPDATE_GOLDEN=1 pytest tests/golden`, and review the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from golden_branches import (
    BRANCHES,
    EVENTS,
    FINISHED,
    STOPPED_CLOCK,
    Branch,
    check,
    git,
    program,
    without_durations,
    without_place,
)

VERBS = (
    "demo", "init", "doctor", "plan", "run", "next", "gate", "verify", "explain", "status", "reset", "logs", "query",
    "docs", "schema", "action", "replay", "serve",
)  # fmt: skip

# The name of the expected file, and the arguments.
READS = {
    "status.json": ("status", "--json"),
    "status.txt": ("status",),
    "status_of_one.json": ("status", "{prd}", "--json"),
    "logs.json": ("logs", "--json"),
    "logs.txt": ("logs",),
    "logs_of_a_story.json": ("logs", "--story", "{prd}-1", "--json"),
    "logs_tokens.json": ("logs", "--tokens", "--json"),
    "logs_tokens.txt": ("logs", "--tokens"),
    "query_similar_failures.json": ("query", "similar-failures", "round half of a total", "--json"),
    "query_similar_failures.txt": ("query", "similar-failures", "round half of a total"),
    "query_stale_docs.json": ("query", "stale-docs", "--json"),
    "query_complexity_trend.json": ("query", "complexity-trend", "--json"),
    "query_complexity_trend.txt": ("query", "complexity-trend"),
    "query_trace.json": ("query", "trace", "--json"),
    "query_trace.txt": ("query", "trace"),
    "query_trace_of_a_story.json": ("query", "trace", "{prd}-1", "--json"),
    "query_sql_tables.json": ("query", "--sql", "SELECT name, sql FROM sqlite_master ORDER BY name", "--json"),
    "docs.json": ("docs", "--json"),
    "docs_check.txt": ("docs", "--check"),
}

# These look back a number of days from now.
READS_BY_THE_CLOCK = {
    "query_correction_factor.json": ("query", "correction-factor", "--json"),
    "query_scope_creep.json": ("query", "scope-creep", "--json"),
    "query_slow_agents.json": ("query", "slow-agents", "--json"),
    "query_slow_agents.txt": ("query", "slow-agents"),
}

WITHOUT_REPOSITORY = {
    "schema.json": ("schema",),
    "unknown_query.txt": ("query", "trase"),
    "explain_unknown.txt": ("explain", "RED999"),
    **{f"explain_{code}.json": ("explain", code, "--json") for code in ("RED104", "GRN201", "GRN302", "ERR401")},
    **{f"explain_{code}.txt": ("explain", code) for code in ("RED104", "GRN502", "INT101", "RUN109", "ERR801")},
    **{
        f"replay_{path.stem}.json": (
            "replay", "-e", path.stem.partition("-")[0], "-p", str(path), "--dry-run", "--json"
        )
        for path in sorted(EVENTS.glob("*.json"))
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[Branch, Path]:
    """One clone for each branch. Its `main` is checked out."""
    return {branch: branch.clone(tmp_path_factory.mktemp(branch.bundle)) for branch in BRANCHES}


@pytest.mark.parametrize(
    "branch",
    [pytest.param(each, id=each.bundle, marks=[] if each is FINISHED else [pytest.mark.slow]) for each in BRANCHES],
)
@pytest.mark.parametrize("expected", READS)
def test_what_a_read_verb_prints(branch: Branch, expected: str, clones: dict[Branch, Path]) -> None:
    place = clones[branch]
    before = git(place, "for-each-ref"), git(place, "status", "--porcelain")
    told = program(place, *(each.format(prd=branch.prd) for each in READS[expected]), warm=True)
    check(f"{branch.bundle}/{expected}", without_place(told.text, place))
    assert (git(place, "for-each-ref"), git(place, "status", "--porcelain")) == before


@pytest.mark.parametrize("expected", READS_BY_THE_CLOCK)
def test_what_a_query_about_the_last_days_prints(expected: str, clones: dict[Branch, Path]) -> None:
    told = program(clones[FINISHED], *READS_BY_THE_CLOCK[expected], env=STOPPED_CLOCK)
    check(f"finished/{expected}", told.text)


@pytest.mark.slow
@pytest.mark.parametrize("branch", BRANCHES, ids=lambda branch: branch.bundle)
def test_living_docs_as_rendered(branch: Branch, tmp_path: Path) -> None:
    """Rendered from the checked-out branch, because `main` has nothing to tell yet."""
    place = branch.clone(tmp_path, checkout=branch.name)
    told = program(place, "docs", "--out", "../living", "--json", warm=True)
    check(f"{branch.bundle}/docs_on_the_branch.json", told.text)
    made = {path.name: path.read_text(encoding="utf-8") for path in sorted((tmp_path / "living").iterdir())}
    check(f"{branch.bundle}/living/names.txt", "".join(f"{name}\n" for name in made))
    for name, text in made.items():
        check(f"{branch.bundle}/living/{name}", text)


@pytest.mark.parametrize("branch", BRANCHES, ids=lambda branch: branch.bundle)
def test_the_plan(branch: Branch, clones: dict[Branch, Path]) -> None:
    place = clones[branch]
    told = program(place, "plan", branch.path, "--model", branch.model, "--json", warm=True)
    check(f"{branch.bundle}/plan.json", without_durations(without_place(told.text, place)))


@pytest.mark.parametrize("expected", WITHOUT_REPOSITORY)
def test_what_needs_no_repository(expected: str, clones: dict[Branch, Path]) -> None:
    check(f"any/{expected}", program(clones[FINISHED], *WITHOUT_REPOSITORY[expected], warm=True).text)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse lays out its help in another way since 3.13")
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_the_help_of_each_verb(verb: str, tmp_path: Path) -> None:
    told = program(tmp_path, *filter(None, (verb, "--help")), warm=True)
    check(f"help/{verb or 'prd2pr'}.txt", told.text)
