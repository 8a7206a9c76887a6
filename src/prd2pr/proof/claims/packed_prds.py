"""Check the step that completed a PRD in an earlier form, with its records packed in one file.

That the records are those of the parent is checked like the files of any other step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from prd2pr.domain.evidence import Finding
from prd2pr.proof.claims.claim import StepClaim, make_claim_error
from prd2pr.state.finished_records import collect_records, parse_pack
from prd2pr.state.store import BranchState
from prd2pr.workflow.commits.decisions import SHOWN_STORIES


def check_pack(claim: StepClaim) -> Iterator[Finding]:
    """Check that the pack contains exactly the records of the tree, and the summary what they say."""
    state, git = claim.state, claim.state.store.git
    there = {entry.path for entry in git.entries(claim.commit.sha, state.paths.root)}
    packed = {state.paths.records, state.paths.summary}
    expected = packed | {state.paths.status, claim.evidence_path}
    for path in sorted(there ^ expected if claim.completes else there & packed):
        yield make_claim_error("VER106", "the records of a PRD are packed when it is complete, and only then", path)
    if not claim.completes or not packed <= there:
        return
    records = collect_records(git, state.tree, state.paths, {claim.evidence_path, *claim.removable})
    if parse_pack(git.read(claim.commit.sha, state.paths.records) or b"", state.paths) != records:
        yield make_claim_error("VER106", "the pack contains other files than the records", state.paths.records)
    if state.prd is None:
        yield make_claim_error("VER106", "the pack has no prd.json", state.paths.records)
    elif read_packed_summary(claim) != summarize_packed_prd(state):
        yield make_claim_error("VER106", "the summary does not match the records", state.paths.summary)


def read_packed_summary(claim: StepClaim) -> object:
    try:
        return json.loads(claim.state.store.git.read(claim.commit.sha, claim.state.paths.summary) or b"")
    except (ValueError, RecursionError):
        return None


def summarize_packed_prd(state: BranchState) -> dict[str, object]:
    """Return the summary as it was stored next to a pack."""
    assert state.prd is not None, "checked by check_pack"
    stories, cycles = state.backlog.stories[:SHOWN_STORIES], {name: state.cycle(name) for name in state.cycle_ids}
    return {
        "schema_version": 1,
        "prd": state.prd.id,
        "title": state.prd.title,
        "path": state.prd.path,
        "requirements": len(state.prd.requirements),
        "more_stories": len(state.backlog.stories) - len(stories),
        "stories": [
            {
                "id": story.id,
                "title": story.title,
                "status": story.status,
                "requirements": [*story.requirements],
                "steps": len(cycle.steps) if cycle else 0,
                "tests": len(cycle.tests) if cycle else 0,
            }
            for story in stories
            for cycle in [cycles.get(story.id)]
        ],
    }
