"""Commit messages: `red(auth-2): a wrong password is refused`, an explanation, and trailers for programs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prd2pr.domain.records import DeclaredTestChange, Phase

SUBJECT_LENGTH = 72
CHANGED_TEST = "Changed-Test"
REMOVED = " removed"
TRAILER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*):[ \t]+(\S.*)$")
STEP = re.compile(r"([A-Za-z0-9._-]+)/([A-Za-z0-9._-]+)/(\d{1,9})")
JOIN = re.compile(r"([A-Za-z0-9._-]+)/([A-Za-z0-9._-]+)")
EVIDENCE = re.compile(r"sha256:[0-9a-f]{64}")
# The start of a subject, with phase and story, which `verify` compares.
OUR_PREFIX = re.compile(r"[a-z-]+\([A-Za-z0-9._-]+\): ")
# Text that triggers GitHub anywhere in a message: mentions, references (which may close an issue), skipped CI.
GITHUB_REFERENCES = re.compile(
    r"(@(?=\w)|#(?=\d)|\bGH-(?=\d)|/(?:issues|pull|discussions)/(?=\d)"
    r"|\[(?=(?:skip ci|ci skip|no ci|skip actions|actions skip)\])|\bskip-(?=checks\s*:))",
    re.IGNORECASE,
)
CHERRY_PICKED = re.compile(r"^\(cherry picked from commit [0-9a-f]+\)$")


def to_one_line(text: str) -> str:
    """Replace line breaks, control characters and direction marks with spaces."""
    return " ".join("".join(char if _is_shown(char) else " " for char in text).split())


def _is_shown(char: str) -> bool:
    direction_marks = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return char.isprintable() and char not in direction_marks


def format_subject(phase: str, scope: str, title: str) -> str:
    return shorten_subject(f"{to_one_line(phase)}({to_one_line(scope)}): {to_one_line(title)}")


def shorten_subject(subject: str) -> str:
    return subject if len(subject) <= SUBJECT_LENGTH else subject[: SUBJECT_LENGTH - 1].rstrip() + "…"


def format_message(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """Format a message with the trailers as its last paragraph.

    Lines of the body that look like trailers are quoted.
    """
    paragraphs = [shorten_subject(_neutralize_subject(to_one_line(subject))) or "(no subject)"]
    lines = [neutralize_references(_quote_trailer_line(line)) for line in _split_body(body)]
    if any(lines):
        paragraphs.append("\n".join(lines).strip("\n"))
    if trailers:
        paragraphs.append("\n".join(_format_trailer(key, value) for key, value in trailers))
    return "\n\n".join(paragraphs) + "\n"


def append_trailer(message: str, key: str, value: str) -> str:
    """Add a trailer to the last paragraph of a formatted message, or as a separate paragraph."""
    text = message.rstrip("\n")
    gap = "\n" if read_trailers(split_message(text)[1]) else "\n\n"
    return f"{text}{gap}{_format_trailer(key, value)}\n"


def _format_trailer(key: str, value: str) -> str:
    line = f"{key}: {to_one_line(value)}"
    if not TRAILER.match(line):
        raise ValueError(f"{line!r} is not a trailer")
    return line


def _split_body(body: str) -> list[str]:
    return [to_one_line(line) for line in body.splitlines()]


def _quote_trailer_line(line: str) -> str:
    """Quote a line that looks like a trailer, or starts with `#`, which git drops when a message is edited."""
    return f"> {line}" if TRAILER.match(line) or line.startswith("#") else line


def neutralize_references(line: str) -> str:
    """Insert zero-width spaces into all text that would trigger GitHub. The displayed text stays the same."""
    return GITHUB_REFERENCES.sub("\\1\u200b", line)


def _neutralize_subject(subject: str) -> str:
    ours = OUR_PREFIX.match(subject)
    start = ours.end() if ours else 0
    return subject[:start] + neutralize_references(subject[start:])


def split_message(message: str) -> tuple[str, str]:
    subject, _, body = message.strip("\n").partition("\n")
    return subject, body.strip("\n")


def read_trailers(body: str) -> Mapping[str, tuple[str, ...]]:
    """Return the trailers of the last paragraph if it contains nothing else."""
    last = re.split(r"\n[ \t]*\n", body.strip())[-1]
    found: dict[str, tuple[str, ...]] = {}
    for line in last.split("\n"):
        match = TRAILER.match(line)
        if match:
            found[match[1]] = (*found.get(match[1], ()), match[2].rstrip())
        elif not CHERRY_PICKED.match(line):
            return {}
    return found


# --- the trailers of a step -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepRef:
    """The step that a commit claims to be. `prd2pr verify` checks the claim."""

    prd: str
    story: str
    n: int
    phase: Phase
    evidence: str  # sha256:<hex>


def compute_evidence_digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def build_step_trailers(step: StepRef) -> tuple[tuple[str, str], ...]:
    return (
        ("Tdd-Step", f"{step.prd}/{step.story}/{step.n}"),
        ("Tdd-Phase", step.phase.value),
        ("Tdd-Evidence", step.evidence),
    )


def read_declared_tests(trailers: Mapping[str, Sequence[str]]) -> tuple[DeclaredTestChange, ...]:
    """Read the trailers `Changed-Test: tests/test_fee.py::test_fee FR-2`, with `removed` at the end for a removal."""
    found = []
    for line in trailers.get(CHANGED_TEST, ()):
        test, _, requirement = line.removesuffix(REMOVED).rpartition(" ")
        if test.strip():
            found.append(DeclaredTestChange(test=test.strip(), requirement=requirement, removed=line.endswith(REMOVED)))
    return tuple(found)


def read_step(trailers: Mapping[str, tuple[str, ...]]) -> StepRef | None:
    """Return the claimed step, or None unless each of the three trailers occurs exactly once and is valid."""
    values = [trailers.get(key, ()) for key in ("Tdd-Step", "Tdd-Phase", "Tdd-Evidence")]
    if any(len(value) != 1 for value in values):
        return None
    step, phase, evidence = (value[0] for value in values)
    match = STEP.fullmatch(step)
    if match is None or phase not in set(Phase) or not EVIDENCE.fullmatch(evidence):
        return None
    return StepRef(match[1], match[2], int(match[3]), Phase(phase), evidence)


# --- the trailer of a join --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JoinRef:
    """A commit that claims to merge a story's branch into the PRD's branch."""

    prd: str
    story: str


def build_join_trailers(join: JoinRef) -> tuple[tuple[str, str], ...]:
    return (("Tdd-Join", f"{join.prd}/{join.story}"),)


def read_join(trailers: Mapping[str, tuple[str, ...]]) -> JoinRef | None:
    """Return the story merge that a commit claims to be, or None if its trailer is invalid or it also claims a step."""
    value = trailers.get("Tdd-Join", ())
    match = JOIN.fullmatch(value[0]) if len(value) == 1 and "Tdd-Step" not in trailers else None
    return JoinRef(match[1], match[2]) if match else None
