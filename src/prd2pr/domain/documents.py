"""The living docs, and where they may be written."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.domain.evidence import Change, PathKind
from prd2pr.domain.paths import CONVENTIONS, PathRules, classify_path
from prd2pr.domain.write_policy import find_path_problem


class LivingDocument(NamedTuple):
    name: str  # the file's name without suffix, also used in section markers
    title: str
    about: str

    @property
    def file(self) -> str:
        return f"{self.name}.md"

    @property
    def template(self) -> str:
        return f"docs/{self.name.lower()}.md.j2"


DOCUMENTS: tuple[LivingDocument, ...] = (
    LivingDocument("CODEBASE_MAP", "Codebase map", "The files of the project, and what each of them offers."),
    LivingDocument("ARCHITECTURE", "Architecture", "The parts of the code and how they depend on each other."),
    LivingDocument("DECISIONS", "Decisions", "What was decided, for which story, and why."),
    LivingDocument("PATTERNS", "Patterns", "Patterns that later work should follow."),
    LivingDocument("SECURITY", "Security", "Known risks, and places in the code to review."),
    LivingDocument("FAILURES", "Failures", "Approaches that failed, and the lessons from them."),
    LivingDocument("ESTIMATES", "Estimates", "Estimated and actual effort of stories."),
    LivingDocument("CHANGELOG", "Changelog", "What is new for users of this project."),
    LivingDocument("INFRASTRUCTURE", "Infrastructure", "What the project runs on, and the configuration it needs."),
    LivingDocument("DEPLOYMENT", "Deployment", "How the project is deployed."),
    LivingDocument("ROUTING", "Routing", "How requests and commands reach the code."),
    LivingDocument("CI_CD", "CI and CD", "What is checked and delivered automatically, and when."),
    LivingDocument("RUNBOOK", "Runbook", "How to set up, run, check and fix the project."),
    LivingDocument("TRACE", "Trace", "From each requirement to the tests that prove it."),
)

# If two branches both wrote the documents, git keeps the lines of both; the next rendering corrects them.
MERGE_ATTRIBUTES_FILE = ".gitattributes"
MERGE_ATTRIBUTES_TEXT = (
    "# After a merge, `prd2pr docs --write` or the next finished story writes these documents anew.\n"
    + "".join(f"{document.file} merge=union\n" for document in DOCUMENTS)
).encode()

# Documents are for people: a file that tests, tools or CI use is never one, regardless of its name.
_OPEN_KINDS = frozenset({PathKind.DOCS, PathKind.SOURCE, PathKind.OTHER})
PLAIN_FILE = "100644"


def get_document_path(directory: str, document: LivingDocument) -> str:
    root = _normalize_directory(directory)
    return f"{root}/{document.file}" if root else document.file


def get_attributes_path(directory: str) -> str:
    """Return the path of the documents' `.gitattributes`.

    It is empty for documents at the repository's root, where the file would affect all other files.
    """
    root = _normalize_directory(directory)
    return f"{root}/{MERGE_ATTRIBUTES_FILE}" if root else ""


def is_document(path: str) -> bool:
    """Return whether a path of `list_living_paths` is a document and not the `.gitattributes`."""
    return not path.endswith(MERGE_ATTRIBUTES_FILE)


def _normalize_directory(directory: str) -> str:
    root = directory.removeprefix("./").rstrip("/")
    return "" if root == "." else root


def list_living_paths(directory: str, rules: PathRules = CONVENTIONS) -> tuple[str, ...]:
    """Return the paths at which living docs may be written, without those that tests, run settings or CI use."""
    paths = (get_document_path(directory, document) for document in DOCUMENTS)
    found = tuple(path for path in paths if not find_path_problem(path) and classify_path(path, rules) in _OPEN_KINDS)
    merging = get_attributes_path(directory)
    return (*found, merging) if found and merging else found


def is_plain_file_change(change: Change) -> bool:
    """Return whether the change adds or modifies a plain document. The `.gitattributes` may only be added."""
    plain = change.new_mode == PLAIN_FILE and change.old_mode in {"", PLAIN_FILE}
    if change.path.endswith(f"/{MERGE_ATTRIBUTES_FILE}"):
        return plain and change.status == "added"
    return change.kind in _OPEN_KINDS and plain and change.status in {"added", "modified"}
