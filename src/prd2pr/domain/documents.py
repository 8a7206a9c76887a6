"""The living docs, and where they may be written."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from prd2pr.domain.evidence import Change, PathKind
from prd2pr.domain.paths import CONVENTIONS, PathRules, classify_path
from prd2pr.domain.write_policy import find_path_problem


class LivingDocument(NamedTuple):
    """A document with a generated part. `name` is used in the marks around that part."""

    name: str
    title: str
    about: str
    needs: str  # the content without which the document is not written
    file_name: str = ""
    # What happens to a person's file of this name without marks: the generated part is appended, or it is left alone.
    # A `marked` document is never created: only the part between marks that a person has set is written.
    adoption: Literal["append", "leave", "marked"] = "append"
    shared_template: str = ""

    @property
    def file(self) -> str:
        return self.file_name or f"{self.name}.md"

    @property
    def template(self) -> str:
        return f"docs/{self.shared_template or self.name.lower()}.md.j2"


SECURITY = LivingDocument(
    "SECURITY_REVIEW",
    "Security review",
    "Known risks, and places in the code to review.",
    "a reported risk, a risky call, a secret, or a CI action that is not pinned",
)
# GitHub displays a SECURITY.md at the root, in docs/ or in .github/ as the project's security policy.
SECURITY_POLICY = SECURITY._replace(
    name="SECURITY", title="Security", adoption="marked", shared_template="security_review"
)
CHANGELOG = LivingDocument(
    "CHANGELOG",
    "Changelog",
    "What is new for users of this project.",
    "a finished story, in a project without a `CHANGELOG.md` of its own",
)
DOCUMENTS: tuple[LivingDocument, ...] = (
    LivingDocument(
        "CODEBASE_MAP", "Codebase map", "The files of the project, and what each of them offers.", "source files"
    ),
    LivingDocument(
        "ARCHITECTURE",
        "Architecture",
        "The parts of the code and how they depend on each other.",
        "files that import each other, entry points, libraries or designs of finished stories",
    ),
    LivingDocument(
        "DECISIONS",
        "Decisions",
        "What was decided, for which story, and why.",
        "a decision, an assumption or an experiment",
    ),
    LivingDocument(
        "PATTERNS",
        "Patterns",
        "Patterns that later work should follow.",
        "a recorded pattern, or enough Python code to count its habits",
    ),
    SECURITY,
    LivingDocument(
        "FAILURES",
        "Failures",
        "Approaches that failed, and the lessons from them.",
        "a refused attempt, a failed story or a retrospective",
    ),
    LivingDocument("ESTIMATES", "Estimates", "Estimated and actual effort of stories.", "a finished story"),
    CHANGELOG,
    LivingDocument(
        "INFRASTRUCTURE",
        "Infrastructure",
        "What the project runs on, and the configuration it needs.",
        "a Dockerfile, a compose file, cluster manifests, Terraform, processes or environment variables",
    ),
    LivingDocument(
        "DEPLOYMENT",
        "Deployment",
        "How the project is deployed.",
        "a job or command that deploys, an image, a service or a hosting platform",
    ),
    LivingDocument("ROUTING", "Routing", "How requests and commands reach the code.", "routes, programs or commands"),
    LivingDocument(
        "CI_CD", "CI and CD", "What is checked and delivered automatically, and when.", "CI pipelines or hooks"
    ),
    LivingDocument(
        "RUNBOOK",
        "Runbook",
        "How to set up, run, check and fix the project.",
        "a known way to install, test or start the project",
    ),
    LivingDocument("TRACE", "Trace", "From each requirement to the tests that prove it.", "a started story"),
)
DOCUMENT_NAMES = tuple(
    "security" if document is SECURITY else document.name.lower() for document in DOCUMENTS
)  # as in `docs.documents`

# The descriptions of version 0.1, which identify documents without hand-written text.
EARLIER_ABOUTS = {
    "ARCHITECTURE": "How the parts of the code hang together.",
    "CHANGELOG": "What is new for those who use this project.",
    "CI_CD": "What is checked and delivered by machines, and when.",
    "CODEBASE_MAP": "Which files there are, and what each of them offers.",
    "DEPLOYMENT": "How the project gets to where it runs.",
    "ESTIMATES": "What stories were thought to take, and what they took.",
    "FAILURES": "What was tried and did not work, and what was learnt from it.",
    "INFRASTRUCTURE": "What the project runs on, and what it has to be given.",
    "PATTERNS": "Ways of doing things that later work is to follow.",
    "RUNBOOK": "How to set the project up, run it, check it and mend it.",
    "SECURITY": "Risks that were named, and places in the code to look at.",
}

INDEX = LivingDocument(
    "INDEX", "Documentation", "The documents that prd2pr keeps up to date.", "a document", "README.md", "leave"
)
README = LivingDocument("README", "README", "What was built from PRDs.", "a finished story", "README.md", "marked")
# The project's own changelog has no marks: a finished story adds an entry, and nothing else is changed.
OWN_CHANGELOG = CHANGELOG._replace(name="OWN_CHANGELOG", file_name="CHANGELOG.md", adoption="leave")
AT_ROOT = (README, OWN_CHANGELOG)
ALL_DOCUMENTS = frozenset({*DOCUMENTS, SECURITY_POLICY, INDEX, README, OWN_CHANGELOG})


def select_documents(names: Collection[str]) -> frozenset[LivingDocument]:
    """Return the documents with these names, or all documents if no name is given."""
    left_out = {document for name, document in zip(DOCUMENT_NAMES, DOCUMENTS, strict=True) if name not in names}
    if CHANGELOG in left_out:
        left_out.add(OWN_CHANGELOG)
    if SECURITY in left_out:
        left_out.add(SECURITY_POLICY)
    return ALL_DOCUMENTS - left_out if names else ALL_DOCUMENTS


# If two branches both wrote the documents, git keeps the lines of both; the next rendering corrects them.
ATTRIBUTES_FILE = ".gitattributes"
_ATTRIBUTES_HEADER = "# After a merge, `prd2pr docs --write` or the next finished story writes these documents anew.\n"
_ATTRIBUTES_LINE = re.compile(r"[A-Z_]+\.md merge=union( linguist-generated)?")


def format_attributes(written_by_people: Collection[LivingDocument]) -> bytes:
    """Return the `.gitattributes` of the documents.

    GitHub collapses the diffs of documents that contain no text by people.
    """
    lines = (
        f"{each.file} merge=union{'' if each in written_by_people else ' linguist-generated'}\n"
        for each in (INDEX, *DOCUMENTS)
    )
    return (_ATTRIBUTES_HEADER + "".join(lines)).encode()


def is_own_attributes(content: bytes) -> bool:
    """Return whether a `.gitattributes` was written by prd2pr, in this version or another."""
    header, *lines = content.decode("utf-8", "replace").splitlines()
    return f"{header}\n" == _ATTRIBUTES_HEADER and all(_ATTRIBUTES_LINE.fullmatch(line) for line in lines)


# Documents are for people: a file that tests, tools or CI use is never one, regardless of its name.
_OPEN_KINDS = frozenset({PathKind.DOCS, PathKind.SOURCE, PathKind.OTHER})
PLAIN_FILE = "100644"


def get_document_path(directory: str, document: LivingDocument) -> str:
    root = "" if document in AT_ROOT else _normalize_directory(directory)
    return f"{root}/{document.file}" if root else document.file


def list_documents(directory: str) -> tuple[LivingDocument, ...]:
    """Return the documents that have a generated part.

    There is no index at the repository's root, since README.md belongs to the project there.
    """
    documents = (*DOCUMENTS, SECURITY_POLICY, README)
    return (*documents, INDEX) if _normalize_directory(directory) else documents


def get_attributes_path(directory: str) -> str:
    """Return the path of the documents' `.gitattributes`.

    It is empty for documents at the repository's root, where the file would affect all other files.
    """
    root = _normalize_directory(directory)
    return f"{root}/{ATTRIBUTES_FILE}" if root else ""


def is_document(path: str) -> bool:
    """Return whether a path of `list_living_paths` is a document and not the `.gitattributes`."""
    return not path.endswith(ATTRIBUTES_FILE)


def _normalize_directory(directory: str) -> str:
    root = directory.removeprefix("./").rstrip("/")
    return "" if root == "." else root


def list_living_paths(directory: str, rules: PathRules = CONVENTIONS) -> tuple[str, ...]:
    """Return the paths at which living docs may be written, except those that tests, run settings or CI use."""
    paths = dict.fromkeys(get_document_path(directory, document) for document in (*list_documents(directory), *AT_ROOT))
    found = [path for path in paths if not find_path_problem(path) and classify_path(path, rules) in _OPEN_KINDS]
    if get_document_path(directory, DOCUMENTS[0]) not in found:
        return ()
    merging = get_attributes_path(directory)
    return (*found, merging) if merging else tuple(found)


def is_plain_file_change(change: Change) -> bool:
    """Return whether the change adds, modifies or deletes a plain document or the documents' `.gitattributes`."""
    plain = {change.old_mode, change.new_mode} <= {"", PLAIN_FILE}
    open_kind = change.kind in _OPEN_KINDS or not is_document(change.path)
    return plain and open_kind and change.status in {"added", "modified", "deleted"}
