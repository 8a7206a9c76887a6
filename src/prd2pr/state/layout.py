"""The paths under `.orch-state/`. Every path is built here from validated ids."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prd2pr.domain.records import Phase
from prd2pr.errors import InputInvalid

STATE = ".orch-state"
PROJECT = f"{STATE}/project.json"
ARCHITECTURE = f"{STATE}/architecture.md"
BEST_PRACTICES = f"{STATE}/best-practices.md"
HUMAN_FILES = (ARCHITECTURE, BEST_PRACTICES)  # state files that people may edit
ATTRIBUTES = f"{STATE}/.gitattributes"
PRDS = f"{STATE}/prds"
LOGS = f"{STATE}/logs"
MEMORY = f"{STATE}/memory"
PLAN_STORY = "plan"  # used as the story id in the steps and evidence of the plan itself

# GitHub folds generated files in diffs. Compressed files and hidden examples are not shown as text.
ATTRIBUTES_TEXT = b"* linguist-generated=true\n*.gz binary\nprds/*/tdd/held_out/** -diff\n"
COMPRESSED = ".gz"
LOG_ENDINGS = (".jsonl", f".jsonl{COMPRESSED}")

ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?")


def is_id(text: str) -> bool:
    return bool(ID.fullmatch(text)) and ".." not in text and not text.endswith(".lock")


def check_id(text: str, what: str = "id") -> str:
    """Check an id, which becomes a file name and part of a branch name, so `..` and `.lock` are not allowed."""
    if not is_id(text):
        raise InputInvalid(
            f"{text!r} is not a valid {what}: it becomes a file name",
            where=what,
            remedy="use up to 100 letters, digits, `-`, `_` and single `.`, beginning with a letter or digit",
        )
    return text


def build_stories_prefix(branch_prefix: str, prd_id: str) -> str:
    """Return the prefix of story branches.

    It is not below the PRD's branch, because git cannot have both `a` and `a/b`.
    """
    return f"{branch_prefix.rstrip('/') or 'prd2pr'}-stories/{prd_id}/"


def build_memory_path(kind: str, record_id: str) -> str:
    return f"{MEMORY}/{kind}/{check_id(record_id, 'memory id')}.json"


def build_log_path(run_id: str) -> str:
    return f"{LOGS}/{check_id(run_id, 'run id')}.jsonl{COMPRESSED}"


def list_log_paths(run_id: str) -> tuple[str, str]:
    """Return where the log of a run may be. Versions before 0.3 did not compress it."""
    path = build_log_path(run_id)
    return path, path.removesuffix(COMPRESSED)


@dataclass(frozen=True)
class PrdLayout:
    prd_id: str

    def __post_init__(self) -> None:
        check_id(self.prd_id, "PRD id")

    @property
    def root(self) -> str:
        return f"{PRDS}/{self.prd_id}"

    @property
    def prd(self) -> str:
        return f"{self.root}/prd.json"

    @property
    def status(self) -> str:
        return f"{self.root}/status.json"

    @property
    def backlog(self) -> str:
        return f"{self.root}/backlog.json"

    @property
    def progress(self) -> str:
        return f"{self.root}/progress.md"

    @property
    def summary(self) -> str:
        """The path of the summary of a complete PRD."""
        return f"{self.root}/summary.json"

    @property
    def memory(self) -> str:
        """The path of the memory records of a complete PRD."""
        return f"{MEMORY}/finished/{self.prd_id}.jsonl{COMPRESSED}"

    @property
    def records(self) -> str:
        """The path of the packed records of a complete PRD, as earlier versions stored them."""
        return f"{self.root}/records.json{COMPRESSED}"

    @property
    def circuits(self) -> str:
        return f"{self.root}/circuits.json"

    @property
    def cycles(self) -> str:
        return f"{self.root}/tdd/cycles"

    @property
    def ci_root(self) -> str:
        """The results of the repository's own CI, next to the cycles."""
        return f"{self.root}/tdd/ci"

    def ci(self, story: str) -> str:
        return f"{self.ci_root}/{check_id(story, 'story')}.json"

    @property
    def evidence_root(self) -> str:
        return f"{self.root}/tdd/evidence"

    def sprint(self, sprint_id: str) -> str:
        return f"{self.root}/sprints/{check_id(sprint_id, 'sprint id')}.json"

    def cycle(self, story: str) -> str:
        return f"{self.cycles}/{check_id(story, 'story id')}.json"

    def evidence_data(self, story: str, n: int, phase: Phase) -> str:
        """Return the path of all data of a step's evidence, of which `evidence` is the summary."""
        return f"{self.evidence(story, n, phase)}{COMPRESSED}"

    def evidence(self, story: str, n: int, phase: Phase) -> str:
        if n < 0:
            raise ValueError(f"step {n} is negative")
        return f"{self.evidence_root}/{check_id(story, 'story id')}/{n}-{phase.value}.json"

    def held_out(self, story: str) -> str:
        """Return the directory of a story's hidden examples, outside the code that roles see."""
        return f"{self.root}/tdd/held_out/{check_id(story, 'story id')}"

    def page(self, story: str, number: int) -> str:
        """Return the path of a screenshot of a page, taken after the story."""
        return f"{self.root}/pages/{check_id(story, 'story id')}/{number}.png"

    @property
    def pipeline(self) -> str:
        return f"{self.root}/pipeline"

    def role(self, role: str, story: str = "") -> str:
        """Return the path of a role's reply about the PRD or about one story."""
        directory = f"{self.pipeline}/{check_id(story, 'story id')}" if story else self.pipeline
        return f"{directory}/{check_id(role, 'role')}.json"

    @property
    def runs(self) -> str:
        return f"{self.root}/runs"

    def run(self, run_id: str) -> str:
        return f"{self.runs}/{check_id(run_id, 'run id')}.json"
