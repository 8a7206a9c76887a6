"""Commit messages: `red(auth-2): a wrong password is refused`, an explanation, and trailers for programs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prd2pr.core.records import Phase

SUBJECT_LENGTH = 72
TRAILER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*):[ \t]+(\S.*)$")
STEP = re.compile(r"([A-Za-z0-9._-]+)/([A-Za-z0-9._-]+)/(\d{1,9})")
JOINED = re.compile(r"([A-Za-z0-9._-]+)/([A-Za-z0-9._-]+)")
EVIDENCE = re.compile(r"sha256:[0-9a-f]{64}")
OUR_PREFIX = re.compile(r"[a-z-]+\([A-Za-z0-9._-]+\): ")  # of a subject: phase and story, which `verify` compares
# What GitHub acts on wherever it stands in a message: mentions, references (which may close an issue), skipped CI.
ACTS = re.compile(
    r"(@(?=\w)|#(?=\d)|\bGH-(?=\d)|/(?:issues|pull|discussions)/(?=\d)"
    r"|\[(?=(?:skip ci|ci skip|no ci|skip actions|actions skip)\])|\bskip-(?=checks\s*:))",
    re.IGNORECASE,
)
CHERRY_PICKED = re.compile(r"^\(cherry picked from commit [0-9a-f]+\)$")


def one_line(text: str) -> str:
    """Without line ends, control characters or direction marks: one line stays one line, and reads as it is written."""
    return " ".join("".join(char if _shown(char) else " " for char in text).split())


def _shown(char: str) -> bool:
    direction_marks = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return char.isprintable() and char not in direction_marks


def format_subject(phase: str, scope: str, title: str) -> str:
    return shortened(f"{one_line(phase)}({one_line(scope)}): {one_line(title)}")


def shortened(subject: str) -> str:
    return subject if len(subject) <= SUBJECT_LENGTH else subject[: SUBJECT_LENGTH - 1].rstrip() + "…"


def format_message(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """Trailers are the last paragraph and the only lines of their form: text of a model cannot add one."""
    paragraphs = [shortened(_inert_subject(one_line(subject))) or "(no subject)"]
    lines = [inert(_defused(line)) for line in _body_lines(body)]
    if any(lines):
        paragraphs.append("\n".join(lines).strip("\n"))
    if trailers:
        paragraphs.append("\n".join(_trailer(key, value) for key, value in trailers))
    return "\n\n".join(paragraphs) + "\n"


def _trailer(key: str, value: str) -> str:
    line = f"{key}: {one_line(value)}"
    if not TRAILER.match(line):
        raise ValueError(f"{line!r} is not a trailer")
    return line


def _body_lines(body: str) -> list[str]:
    return [one_line(line) for line in body.splitlines()]


def _defused(line: str) -> str:
    """A line that reads as a trailer is quoted; so is a `#`, which an editor would drop when somebody rewords."""
    return f"> {line}" if TRAILER.match(line) or line.startswith("#") else line


def inert(line: str) -> str:
    """It reads the same, and starts nothing: what GitHub would act on is parted by a space of no width."""
    return ACTS.sub("\\1\u200b", line)


def _inert_subject(subject: str) -> str:
    ours = OUR_PREFIX.match(subject)
    start = ours.end() if ours else 0
    return subject[:start] + inert(subject[start:])


def split_message(message: str) -> tuple[str, str]:
    subject, _, body = message.strip("\n").partition("\n")
    return subject, body.strip("\n")


def read_trailers(body: str) -> Mapping[str, tuple[str, ...]]:
    """Those of the last paragraph, provided that it holds nothing else."""
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
    """What a commit says about itself; whether it is so, `prd2pr verify` proves."""

    prd: str
    story: str
    n: int
    phase: Phase
    evidence: str  # sha256:<hex>


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def step_trailers(step: StepRef) -> tuple[tuple[str, str], ...]:
    return (
        ("Tdd-Step", f"{step.prd}/{step.story}/{step.n}"),
        ("Tdd-Phase", step.phase.value),
        ("Tdd-Evidence", step.evidence),
    )


def read_step(trailers: Mapping[str, tuple[str, ...]]) -> StepRef | None:
    """None unless each of the three stands there once and in its form."""
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
    """A commit that says it brings a story's own branch together with the PRD's."""

    prd: str
    story: str


def join_trailers(join: JoinRef) -> tuple[tuple[str, str], ...]:
    return (("Tdd-Join", f"{join.prd}/{join.story}"),)


def read_join(trailers: Mapping[str, tuple[str, ...]]) -> JoinRef | None:
    """None unless it stands there once, in its form, and no step is claimed besides."""
    value = trailers.get("Tdd-Join", ())
    match = JOINED.fullmatch(value[0]) if len(value) == 1 and "Tdd-Step" not in trailers else None
    return JoinRef(match[1], match[2]) if match else None
