"""Which documents there are, and where they may stand."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.evidence import Change, PathKind
from prd2pr.core.paths import CONVENTIONS, PathRules, classify_path
from prd2pr.core.policy import path_problem


class LivingDocument(NamedTuple):
    name: str  # of the file, without its ending, and of its marks
    title: str
    about: str

    @property
    def file(self) -> str:
        return f"{self.name}.md"

    @property
    def template(self) -> str:
        return f"docs/{self.name.lower()}.md.j2"


DOCUMENTS: tuple[LivingDocument, ...] = (
    LivingDocument("CODEBASE_MAP", "Codebase map", "Which files there are, and what each of them offers."),
    LivingDocument("ARCHITECTURE", "Architecture", "How the parts of the code hang together."),
    LivingDocument("DECISIONS", "Decisions", "What was decided, for which story, and why."),
    LivingDocument("PATTERNS", "Patterns", "Ways of doing things that later work is to follow."),
    LivingDocument("SECURITY", "Security", "Risks that were named, and places in the code to look at."),
    LivingDocument("FAILURES", "Failures", "What was tried and did not work, and what was learnt from it."),
    LivingDocument("ESTIMATES", "Estimates", "What stories were thought to take, and what they took."),
    LivingDocument("CHANGELOG", "Changelog", "What is new for those who use this project."),
    LivingDocument("INFRASTRUCTURE", "Infrastructure", "What the project runs on, and what it has to be given."),
    LivingDocument("DEPLOYMENT", "Deployment", "How the project gets to where it runs."),
    LivingDocument("ROUTING", "Routing", "How requests and commands reach the code."),
    LivingDocument("CI_CD", "CI and CD", "What is checked and delivered by machines, and when."),
    LivingDocument("RUNBOOK", "Runbook", "How to set the project up, run it, check it and mend it."),
    LivingDocument("TRACE", "Trace", "From each requirement to the tests that prove it."),
)

# Two branches have both written the documents: git is to take the lines of both; the next rendering puts it right.
MERGING_FILE = ".gitattributes"
MERGING_TEXT = (
    "# After a merge, `prd2pr docs --write` or the next finished story writes these documents anew.\n"
    + "".join(f"{document.file} merge=union\n" for document in DOCUMENTS)
).encode()

# Documents are read by people. What tests, tools or machines go by is none, whatever its name.
_OPEN_KINDS = frozenset({PathKind.DOCS, PathKind.SOURCE, PathKind.OTHER})
PLAIN_FILE = "100644"


def doc_path(directory: str, document: LivingDocument) -> str:
    root = _root(directory)
    return f"{root}/{document.file}" if root else document.file


def merging_path(directory: str) -> str:
    """Of the file that tells git how to merge the documents; none at the root, where it speaks for everything."""
    root = _root(directory)
    return f"{root}/{MERGING_FILE}" if root else ""


def is_document(path: str) -> bool:
    """Of what lies at `living_paths`."""
    return not path.endswith(MERGING_FILE)


def _root(directory: str) -> str:
    root = directory.removeprefix("./").rstrip("/")
    return "" if root == "." else root


def living_paths(directory: str, rules: PathRules = CONVENTIONS) -> tuple[str, ...]:
    """Where living docs may be written; none of them where tests, settings of the run or machines read."""
    paths = (doc_path(directory, document) for document in DOCUMENTS)
    found = tuple(path for path in paths if not path_problem(path) and classify_path(path, rules) in _OPEN_KINDS)
    merging = merging_path(directory)
    return (*found, merging) if found and merging else found


def is_plainly_written(change: Change) -> bool:
    """As a plain file that people read, and nothing else became of it; the one for git is only ever added."""
    plain = change.new_mode == PLAIN_FILE and change.old_mode in {"", PLAIN_FILE}
    if change.path.endswith(f"/{MERGING_FILE}"):
        return plain and change.status == "added"
    return change.kind in _OPEN_KINDS and plain and change.status in {"added", "modified"}
