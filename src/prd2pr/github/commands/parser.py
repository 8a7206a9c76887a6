"""Parse the commands of a comment, in order, using the Markdown structure and the command table.

A line that starts with one of our words becomes a `ParsedCommand`, an `UnknownCommand` (with a suggestion) or
`BadArguments`. Lines that start with another word after a `/`, such as paths or other bots' commands, are ignored,
unless the word is similar to one of ours: `/aprove` gets a suggestion. Extra words are an error, so `/tdd run is not
what I want` runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from prd2pr.domain.forge import PermissionLevel
from prd2pr.domain.machines.commands import COMMANDS, FIRST_WORDS, CommandSpec, Slot, SlotKind
from prd2pr.domain.machines.refusal import find_closest_command
from prd2pr.domain.questions import parse_question_number
from prd2pr.domain.spelling import find_near_word
from prd2pr.github.commands.comment_lines import MAX_COMMENT_LENGTH, extract_plain_text_lines

__all__ = [
    "COMMANDS",
    "FIRST_WORDS",
    "BadArguments",
    "CommandSpec",
    "ParsedCommand",
    "ParsedLine",
    "UnknownCommand",
    "parse_comment",
]  # fmt: skip

MAX_COMMANDS = 20  # in one comment; each command may cost a model call
MAX_REPLIES = 5  # to one comment; each query and each invalid line gets a reply
MAX_TEXT_LENGTH = 10_000
LOWEST_PRIORITY = 5
USE_A_NEW_COMMENT = "Write the rest in a new comment."


@dataclass(frozen=True)
class KnownCommand:
    name: str  # as in the table, for example `tdd next`

    @property
    def spec(self) -> CommandSpec:
        return COMMANDS[self.name]

    @property
    def shown(self) -> str:
        return self.spec.shown

    @property
    def needs(self) -> PermissionLevel:
        return self.spec.needs


@dataclass(frozen=True)
class ParsedCommand(KnownCommand):
    stories: tuple[str, ...] = ()
    text: str = ""
    number: int | None = None
    code: str = ""  # code of a finding or an error, in capitals
    about: str = ""  # name of a command, as in `/tdd help sprint plan`
    circuit: str = ""
    written: str = ""  # the original line

    @property
    def reads(self) -> bool:
        return self.spec.reads

    @property
    def story(self) -> str:
        """The story that the command names, or an empty string."""
        return self.stories[0] if self.stories else ""


@dataclass(frozen=True)
class UnknownCommand:
    written: str  # the text that looks like a command, for example `/tdd nxt`
    did_you_mean: str = ""  # for example `/tdd next`
    needs: PermissionLevel = "triage"
    near: bool = False  # the first word is only similar to one of ours

    @property
    def shown(self) -> str:
        return self.written


@dataclass(frozen=True)
class BadArguments(KnownCommand):
    problem: str
    written: str = ""
    remedy: str = ""  # empty if the usage explains it


ParsedLine = ParsedCommand | UnknownCommand | BadArguments

OTHER_FIRST_WORDS = tuple(word for word in FIRST_WORDS if word != "tdd")
_WORDS = "|".join(FIRST_WORDS).replace("_", "[_-]")
_OWN_COMMAND = re.compile(rf"/(?:{_WORDS})(?![\w/-])", re.IGNORECASE | re.ASCII)
_ANY_COMMAND = re.compile(r"^[ \t]*/([a-z][a-z_-]{3,24})(?![\w/-])", re.IGNORECASE | re.ASCII | re.MULTILINE)
# First words of the two-word commands.
_FAMILIES = "|".join(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))
_JOINED_COMMAND = re.compile(rf"/({_FAMILIES})[_-]([a-z][a-z_-]{{1,24}})(?![\w/-])", re.IGNORECASE | re.ASCII)
_STORY_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}-[0-9]{1,6}", re.IGNORECASE)
_FINDING_CODE = re.compile(r"[a-z]{2,5}[0-9]{2,4}", re.IGNORECASE)
_CIRCUIT_NAME = re.compile(r"[a-z0-9][\w:./@+-]{0,119}", re.IGNORECASE | re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,6}")
_CLOSING_QUOTES = {'"': '"”', "“": "”“\"", "„": "“”\"", "«": "»", "'": "'", "‘": "’‘", "‚": "‘’"}  # fmt: skip


def parse_comment(body: str) -> tuple[ParsedLine, ...]:
    match = _OWN_COMMAND.search(body) or _JOINED_COMMAND.search(body)
    if not match and not any(_nearest_word(word) for word in _ANY_COMMAND.findall(body[:MAX_COMMENT_LENGTH])):
        return ()  # the usual case: the Markdown need not be parsed
    found: list[ParsedLine] = []
    for line in extract_plain_text_lines(body):
        parsed = parse_line(line)
        if parsed is None:
            continue
        if len(found) == MAX_COMMANDS:
            return (*found, _too_many_lines(parsed, f"{MAX_COMMANDS} commands"))
        if _needs_reply(parsed) and sum(map(_needs_reply, found)) == MAX_REPLIES:
            return (*found, _too_many_lines(parsed, f"{MAX_REPLIES} queries or lines that are not understood"))
        found.append(parsed)
    return tuple(found)


def parse_line(line: str) -> ParsedLine | None:
    """Parse one line of plain text. Returns None if its first word is neither one of ours nor similar to one."""
    if not _OWN_COMMAND.match(line):
        return _parse_joined(line) or _parse_near_word(line)
    words = line.split(maxsplit=2)
    names = [_fold_word(word) for word in words[:2]]
    if names[0] == "tdd" and len(names) > 1 and names[1] in OTHER_FIRST_WORDS:
        parsed = parse_line(f"/{_text_after(line, 1)}")  # every command can be written with /tdd
        assert parsed is not None, "it begins with the first word of a command"
        return parsed if isinstance(parsed, UnknownCommand) else replace(parsed, written=line[:200])
    for name, rest in ((" ".join(names), _text_after(line, 2)), (names[0], _text_after(line, 1))):
        if name in _SPECS_BY_FOLDED_NAME:
            return _read_arguments(_SPECS_BY_FOLDED_NAME[name], rest, line)
    return _unknown_command(words)


def _parse_joined(line: str) -> UnknownCommand | None:
    """Return a suggestion for a joined command such as `/tdd-next`, which is never executed."""
    found = _JOINED_COMMAND.match(line)
    unknown = _unknown_command([f"/{found[1]}", found[2]]) if found else None
    return replace(unknown, written=found[0]) if found and unknown and unknown.did_you_mean else None


def _parse_near_word(line: str) -> UnknownCommand | None:
    found = _ANY_COMMAND.match(line)
    known = _nearest_word(found[1]) if found else ""
    if not found or not known:
        return None
    meant = parse_line(f"/{known}{line[found.end() :]}")
    assert meant is not None, "it begins with the first word of a command"
    shown = meant.did_you_mean if isinstance(meant, UnknownCommand) else meant.spec.shown
    return UnknownCommand(found[0].strip(), shown, near=True)


def _nearest_word(word: str) -> str:
    return find_near_word(_fold_word(word), FIRST_WORDS)


def _fold_word(word: str) -> str:
    return word.removeprefix("/").lower().replace("-", "_")


_SPECS_BY_FOLDED_NAME = {" ".join(_fold_word(word) for word in name.split()): spec for name, spec in COMMANDS.items()}


def _text_after(line: str, words: int) -> str:
    parts = line.split(maxsplit=words)
    return parts[words] if len(parts) > words else ""


def _unknown_command(words: list[str]) -> UnknownCommand:
    first = _fold_word(words[0]).rstrip(".,;:!?")
    family = {name: spec for name, spec in COMMANDS.items() if _fold_word(name.split()[0]) == first}
    if first in family or first in _SPECS_BY_FOLDED_NAME:  # a known word followed by punctuation
        return UnknownCommand(words[0][:60], _SPECS_BY_FOLDED_NAME[first].shown)
    written = " ".join(words[:2])[:60]
    if len(words) == 1:
        return UnknownCommand(written, "/tdd help")
    meant = _guess_word(words[1][:60], [name.split()[1] for name in family])
    if not meant and first == "tdd":
        meant = _guess_word(words[1][:60], list(OTHER_FIRST_WORDS))
    return UnknownCommand(written, f"/{first} {meant}" if meant else "")


def _guess_word(word: str, known: list[str]) -> str:
    matching = [name for name in known if _fold_word(name).startswith(_fold_word(word))]
    return matching[0] if len(matching) == 1 else find_closest_command(word, known)


def _needs_reply(parsed: ParsedLine) -> bool:
    """Return whether the line gets a reply.

    The result of a command that changes something is shown in the status comment instead.
    """
    return not isinstance(parsed, ParsedCommand) or parsed.reads


def _too_many_lines(parsed: ParsedLine, most: str) -> BadArguments:
    name = "tdd help" if isinstance(parsed, UnknownCommand) else parsed.name
    problem = f"one comment may contain at most {most}; this line and the ones after it were not read"
    return BadArguments(name, problem, parsed.written, USE_A_NEW_COMMENT)


# --- arguments --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ArgumentProblem:
    text: str
    remedy: str = ""


_SlotResult = (
    tuple[ParsedCommand, str] | _ArgumentProblem
)  # the command with one more argument, and the rest of the line


def _read_arguments(spec: CommandSpec, rest: str, line: str) -> ParsedCommand | BadArguments:
    command = ParsedCommand(spec.name, written=line[:200])
    for slot in spec.slots:
        taken = _SLOT_READERS[slot.kind](slot, rest.strip(), command)
        if isinstance(taken, _ArgumentProblem):
            return BadArguments(spec.name, taken.text, command.written, taken.remedy)
        command, rest = taken
    if rest.strip():
        return BadArguments(spec.name, f"`{_first_word(rest)}` is unexpected", command.written)
    return command


def _first_word(rest: str) -> str:
    return rest.split(maxsplit=1)[0][:60] if rest.strip() else ""


def _story_id(word: str) -> str:
    """Return the story id, with or without backticks around it, or an empty string if the word is not an id."""
    bare = word[1:-1] if len(word) > 2 and word[0] == word[-1] == "`" else word
    return bare.lower() if _STORY_ID.fullmatch(bare) else ""


def _take_story(slot: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    word = _first_word(rest)
    if story := _story_id(word):
        return replace(command, stories=(story,)), rest[len(word) :]
    if slot.required:
        return _ArgumentProblem(f"`{word}` is not a story id" if word else "the story id is missing, as in `auth-2`")
    return command, rest


def _take_stories(_: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    words = rest.replace(",", " ").split()
    for word in words:
        if not _story_id(word):
            return _ArgumentProblem(f"`{word[:60].strip('`')}` is not a story id")
    return replace(command, stories=tuple(dict.fromkeys(map(_story_id, words)))), ""


def _take_number(_: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    word = _first_word(rest)
    if _DIGITS.fullmatch(word) and 1 <= int(word) <= LOWEST_PRIORITY:
        return replace(command, number=int(word)), rest[len(word) :]
    return _ArgumentProblem(
        f"a number from 1 to {LOWEST_PRIORITY} is missing" + (f", `{word}` is none" if word else "")
    )


def _take_question(_: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    word = _first_word(rest)
    number = parse_question_number(word)
    if number is None:
        return _ArgumentProblem(f"`{word}` is not a question" if word else "a question is missing, as in `Q2`")
    return replace(command, number=number), rest[len(word) :]


def _take_code(_: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    word = _first_word(rest)
    if _FINDING_CODE.fullmatch(word):
        return replace(command, code=word.upper()), rest[len(word) :]
    return _ArgumentProblem(
        f"`{word}` is not a finding's code" if word else "a finding's code is missing, as in `RED104`"
    )


def _take_circuit(_: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    word = _first_word(rest)
    if word and not _CIRCUIT_NAME.fullmatch(word):
        return _ArgumentProblem(f"`{word}` is not the name of a circuit, as in `green`")
    return replace(command, circuit=word), rest[len(word) :]


def _take_command(_: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    name = " ".join(_fold_word(word) for word in rest.split()[:3])
    spellings = (name, f"tdd {name}", name.removeprefix("tdd "))
    known = next((spec for each in spellings if (spec := _SPECS_BY_FOLDED_NAME.get(each))), None)
    if known is None and name and name not in FIRST_WORDS:
        return _ArgumentProblem(f"there is no command `{name[:60]}`")
    return replace(command, about=known.name if known else name), ""


def _take_text(slot: Slot, rest: str, command: ParsedCommand) -> _SlotResult:
    """Read quoted text or the rest of the line. An optional reason must be quoted or follow a story id.

    Otherwise `/tdd abort auth2` would abort the current story with the reason "auth2".
    """
    text = _unquote(rest)
    if isinstance(text, _ArgumentProblem):
        return text
    if not text:
        return _ArgumentProblem("its text is missing") if slot.required else (command, "")
    if len(text) > MAX_TEXT_LENGTH:
        return _ArgumentProblem(
            f"its text is longer than {MAX_TEXT_LENGTH:,} characters", "Write it shorter in a new comment."
        )
    if not slot.required and not command.stories and text == rest:
        return _ArgumentProblem(f"`{_first_word(rest)}` is not a story id; put a reason in quotes")
    return replace(command, text=text), ""


def _unquote(rest: str) -> str | _ArgumentProblem:
    closing = _CLOSING_QUOTES.get(rest[:1], "")
    if not closing:
        return rest
    if len(rest) > 1 and rest[-1] in closing:
        return rest[1:-1].strip()
    if rest[0] != "'" and not any(mark in rest[1:] for mark in closing):
        return _ArgumentProblem("the quotation mark is not closed on the same line")
    return rest


_SLOT_READERS: dict[SlotKind, Callable[[Slot, str, ParsedCommand], _SlotResult]] = {
    "story": _take_story,
    "stories": _take_stories,
    "number": _take_number,
    "question": _take_question,
    "code": _take_code,
    "command": _take_command,
    "circuit": _take_circuit,
    "text": _take_text,
}
