"""Hidden examples: remove them from the tester's work, store them in `.orch-state/`, and describe them if they fail."""

from __future__ import annotations

from prd2pr.agents.findings_text import format_failures
from prd2pr.domain.records import Cycle, HiddenExampleFile, HiddenExamples, Phase
from prd2pr.languages.hidden_examples import (
    get_hidden_example_path,
    get_original_example_path,
    is_hidden_example,
)
from prd2pr.state.store import BranchState, StateChange
from prd2pr.workflow.phases.attempts import JudgedAttempt, Position
from prd2pr.workflow.session import Session

NO_HIDDEN_EXAMPLES = HiddenExamples()
PLAIN = "100644"


def extract_hidden_examples(session: Session, position: Position, tree: str) -> tuple[str, HiddenExamples]:
    """Return the tree without the tester's hidden examples, and the examples themselves."""
    files = tuple(
        HiddenExampleFile(path=raw.path, blob=raw.new_blob)
        for raw in session.git.diff(position.code_tree, tree)
        if (raw.status, raw.new_mode) == ("A", PLAIN) and is_hidden_example(raw.path, position.story.id)
    )
    return session.git.edit_tree(tree, dict.fromkeys(file.path for file in files)), HiddenExamples(files=files)


def store_hidden_examples(session: Session, position: Position, cycle: Cycle, change: StateChange) -> StateChange:
    """Store the examples in the state of RED's commit, where no role sees them but other machines find them."""
    root = session.store.paths.held_out(cycle.story)
    files = cycle.held_out.files if cycle.held_out else ()
    texts = session.git.read_blobs(file.blob for file in files)
    for stale in position.state.list_paths(root):
        change = change.without(stale)
    for file in files:
        change = change.with_bytes(get_hidden_example_path(file, cycle.story, root), texts[file.blob])
    return change


def load_hidden_examples(state: BranchState, story: str) -> HiddenExamples:
    """Return the examples stored in a commit's state, even if the cycle does not record them."""
    root, cycle = state.paths.held_out(story), state.cycle(story)
    entries = state.store.git.entries(state.tree, root)
    return HiddenExamples(
        dropped=cycle.held_out.dropped if cycle and cycle.held_out else (),
        files=tuple(
            HiddenExampleFile(
                path=get_original_example_path(entry.path.removeprefix(f"{root}/"), story), blob=entry.blob
            )
            for entry in entries
        ),
    )


def describe_failed_examples(session: Session, position: Position, phase: Phase, judged: JudgedAttempt | None) -> str:
    """Return an explanation for a person if hidden examples alone caused the last refusal, or an empty string."""
    examples = judged.evidence.held_out if judged and phase is Phase.GREEN else None
    if judged is None or examples is None or {finding.code for finding in judged.verdict.errors} != {"GRN308"}:
        return ""
    failures = format_failures(result for result in examples.results if result.failure)
    root = session.store.paths.held_out(position.story.id)
    places = ", ".join(f"`{get_hidden_example_path(file, position.story.id, root)}`" for file in examples.files)
    return (
        f". All tests that the builder was shown pass, but hidden examples fail: {'; '.join(failures)}. They "
        f"are in {places}. Either the code does not do what the criterion says, or the example is wrong: `/tdd undo` "
        "undoes RED, so that the tester writes it again"
    )
