"""A comment's commands: found by the Markdown's own structure, read by the table, in the order in which they stand.

Three things can come of a line that begins with one of our words: a `Command`, an `UnknownCommand` (with what was
probably meant) or `BadArguments`. Lines that begin with other words after a `/`, as paths and other bots' commands do,
are none of ours, unless the word is nearly one of ours: `/aprove` is asked back about. Extra words are never passed
over: `/tdd run is not what I want` runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from prd2pr.core.command_table import COMMANDS, FIRST_WORDS, CommandSpec, Slot, SlotKind
from prd2pr.core.comment_lines import LONGEST_COMMENT, text_lines
from prd2pr.core.hub import Level
from prd2pr.core.near_words import near_word
from prd2pr.core.refusal import closest

__all__ = ["COMMANDS", "FIRST_WORDS", "BadArguments", "Command", "CommandSpec", "Parsed", "UnknownCommand",
           "parse_comment"]  # fmt: skip

MOST_COMMANDS = 20  # in one comment; each may cost a model call
MOST_ANSWERS = 5  # to one comment: lines that only ask, or are not understood, bring a comment each
LONGEST_TEXT = 10_000
LOWEST_PRIORITY = 5
IN_A_NEW_COMMENT = "Write what is still wanted in a new comment."


@dataclass(frozen=True)
class Command:
    name: str  # as in the table: "tdd next"
    stories: tuple[str, ...] = ()
    text: str = ""
    number: int | None = None
    code: str = ""  # of a finding or an error, in capitals
    about: str = ""  # a command's name: `/tdd help sprint plan`
    circuit: str = ""
    written: str = ""  # the line as it was written

    @property
    def spec(self) -> CommandSpec:
        return COMMANDS[self.name]

    @property
    def shown(self) -> str:
        return self.spec.shown

    @property
    def needs(self) -> Level:
        return self.spec.needs

    @property
    def reads(self) -> bool:
        return self.spec.reads

    @property
    def story(self) -> str:
        """The one story that it names, or nothing."""
        return self.stories[0] if self.stories else ""


@dataclass(frozen=True)
class UnknownCommand:
    written: str  # the words that were taken for a command: "/tdd nxt"
    did_you_mean: str = ""  # "/tdd next"
    needs: Level = "triage"
    near: bool = False  # it does not even begin with a word of ours, only with one that is nearly so

    @property
    def shown(self) -> str:
        return self.written


@dataclass(frozen=True)
class BadArguments:
    name: str
    problem: str
    written: str = ""
    helps: str = ""  # what to do; empty: it is to be written as its usage says

    @property
    def spec(self) -> CommandSpec:
        return COMMANDS[self.name]

    @property
    def shown(self) -> str:
        return self.spec.shown

    @property
    def needs(self) -> Level:
        return self.spec.needs


Parsed = Command | UnknownCommand | BadArguments

_WORDS = "|".join(FIRST_WORDS).replace("_", "[_-]")
_OURS = re.compile(rf"/(?:{_WORDS})(?![\w/-])", re.IGNORECASE | re.ASCII)
_ANY = re.compile(r"^[ \t]*/([a-z][a-z_-]{3,24})(?![\w/-])", re.IGNORECASE | re.ASCII | re.MULTILINE)
_FAMILIES = "|".join(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))  # of two words
_JOINED = re.compile(rf"/({_FAMILIES})[_-]([a-z][a-z_-]{{1,24}})(?![\w/-])", re.IGNORECASE | re.ASCII)
_STORY = re.compile(r"[a-z0-9][a-z0-9-]{0,60}-[0-9]{1,6}", re.IGNORECASE)
_CODE = re.compile(r"[a-z]{2,5}[0-9]{2,4}", re.IGNORECASE)
_CIRCUIT = re.compile(r"[a-z0-9][\w:./@+-]{0,119}", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,6}")
_CLOSES = {'"': '"”', "“": "”“\"", "„": "“”\"", "«": "»", "'": "'", "‘": "’‘", "‚": "‘’"}  # fmt: skip


def parse_comment(body: str) -> tuple[Parsed, ...]:
    begun = _OURS.search(body) or _JOINED.search(body)
    if not begun and not any(_nearly(word) for word in _ANY.findall(body[:LONGEST_COMMENT])):
        return ()  # most comments: no Markdown is read for them
    found: list[Parsed] = []
    for line in text_lines(body):
        parsed = parse_line(line)
        if parsed is None:
            continue
        if len(found) == MOST_COMMANDS:
            return (*found, _too_many(parsed, f"{MOST_COMMANDS} commands"))
        if _is_answered(parsed) and sum(map(_is_answered, found)) == MOST_ANSWERS:
            return (*found, _too_many(parsed, f"{MOST_ANSWERS} lines that only ask or are not understood"))
        found.append(parsed)
    return tuple(found)


def parse_line(line: str) -> Parsed | None:
    """One line of plain text; None where it begins neither with one of our words nor nearly so."""
    if not _OURS.match(line):
        return _joined(line) or _near(line)
    words = line.split(maxsplit=2)
    names = [_folded(word) for word in words[:2]]
    for name, rest in ((" ".join(names), _after(line, 2)), (names[0], _after(line, 1))):
        if name in _BY_FOLDED:
            return _read(_BY_FOLDED[name], rest, line)
    return _unknown(words)


def _joined(line: str) -> UnknownCommand | None:
    """`/tdd-next`: nothing is done on a guess, but it is asked back about."""
    found = _JOINED.match(line)
    unknown = _unknown([f"/{found[1]}", found[2]]) if found else None
    return replace(unknown, written=found[0]) if found and unknown and unknown.did_you_mean else None


def _near(line: str) -> UnknownCommand | None:
    found = _ANY.match(line)
    known = _nearly(found[1]) if found else ""
    if not found or not known:
        return None
    meant = parse_line(f"/{known}{line[found.end() :]}")
    assert meant is not None, "it begins with a word of ours"
    shown = meant.did_you_mean if isinstance(meant, UnknownCommand) else meant.spec.shown
    return UnknownCommand(found[0].strip(), shown, near=True)


def _nearly(word: str) -> str:
    return near_word(_folded(word), FIRST_WORDS)


def _folded(word: str) -> str:
    return word.removeprefix("/").lower().replace("-", "_")


_BY_FOLDED = {" ".join(_folded(word) for word in name.split()): spec for name, spec in COMMANDS.items()}


def _after(line: str, words: int) -> str:
    parts = line.split(maxsplit=words)
    return parts[words] if len(parts) > words else ""


def _unknown(words: list[str]) -> UnknownCommand:
    first = _folded(words[0]).rstrip(".,;:!?")
    family = {name: spec for name, spec in COMMANDS.items() if _folded(name.split()[0]) == first}
    if first in family or first in _BY_FOLDED:  # one word, with a full stop after it
        return UnknownCommand(words[0][:60], _BY_FOLDED[first].shown)
    written = " ".join(words[:2])[:60]
    if len(words) == 1:
        return UnknownCommand(written, "/tdd help")
    meant = _meant(words[1][:60], [name.split()[1] for name in family])
    return UnknownCommand(written, f"/{first} {meant}" if meant else "")


def _meant(word: str, known: list[str]) -> str:
    begun = [name for name in known if _folded(name).startswith(_folded(word))]
    return begun[0] if len(begun) == 1 else closest(word, known)


def _is_answered(parsed: Parsed) -> bool:
    """By a comment, whatever comes of it: what changes something shows in the status comment."""
    return not isinstance(parsed, Command) or parsed.reads


def _too_many(parsed: Parsed, most: str) -> BadArguments:
    name = "tdd help" if isinstance(parsed, UnknownCommand) else parsed.name
    problem = f"one comment holds at most {most}; from here on nothing was read"
    return BadArguments(name, problem, parsed.written, IN_A_NEW_COMMENT)


# --- arguments --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    text: str
    helps: str = ""


_Taken = tuple[Command, str] | _Problem  # the command with one argument more, and what is left of the line


def _read(spec: CommandSpec, rest: str, line: str) -> Command | BadArguments:
    command = Command(spec.name, written=line[:200])
    for slot in spec.slots:
        taken = _TAKE[slot.kind](slot, rest.strip(), command)
        if isinstance(taken, _Problem):
            return BadArguments(spec.name, taken.text, command.written, taken.helps)
        command, rest = taken
    if rest.strip():
        return BadArguments(spec.name, f"`{_word(rest)}` is not expected there", command.written)
    return command


def _word(rest: str) -> str:
    return rest.split(maxsplit=1)[0][:60] if rest.strip() else ""


def _story(word: str) -> str:
    """Its id, also in the backticks in which we write it; empty where the word is none."""
    bare = word[1:-1] if len(word) > 2 and word[0] == word[-1] == "`" else word
    return bare.lower() if _STORY.fullmatch(bare) else ""


def _take_story(slot: Slot, rest: str, command: Command) -> _Taken:
    word = _word(rest)
    if story := _story(word):
        return replace(command, stories=(story,)), rest[len(word) :]
    if slot.required:
        return _Problem(f"`{word}` is not a story's id" if word else "a story's id is missing, as in `auth-2`")
    return command, rest


def _take_stories(_: Slot, rest: str, command: Command) -> _Taken:
    words = rest.replace(",", " ").split()
    for word in words:
        if not _story(word):
            return _Problem(f"`{word[:60].strip('`')}` is not a story's id")
    return replace(command, stories=tuple(dict.fromkeys(map(_story, words)))), ""


def _take_number(_: Slot, rest: str, command: Command) -> _Taken:
    word = _word(rest)
    if _NUMBER.fullmatch(word) and 1 <= int(word) <= LOWEST_PRIORITY:
        return replace(command, number=int(word)), rest[len(word) :]
    return _Problem(f"a number from 1 to {LOWEST_PRIORITY} is missing" + (f", `{word}` is none" if word else ""))


def _take_code(_: Slot, rest: str, command: Command) -> _Taken:
    word = _word(rest)
    if _CODE.fullmatch(word):
        return replace(command, code=word.upper()), rest[len(word) :]
    return _Problem(f"`{word}` is not a finding's code" if word else "a finding's code is missing, as in `RED104`")


def _take_circuit(_: Slot, rest: str, command: Command) -> _Taken:
    word = _word(rest)
    if word and not _CIRCUIT.fullmatch(word):
        return _Problem(f"`{word}` is not a circuit's name, as in `green`")
    return replace(command, circuit=word), rest[len(word) :]


def _take_command(_: Slot, rest: str, command: Command) -> _Taken:
    name = " ".join(_folded(word) for word in rest.split()[:3])
    known = _BY_FOLDED.get(name) or _BY_FOLDED.get(f"tdd {name}")
    if known is None and name and name not in FIRST_WORDS:
        return _Problem(f"there is no command `{name[:60]}`")
    return replace(command, about=known.name if known else name), ""


def _take_text(slot: Slot, rest: str, command: Command) -> _Taken:
    """Quoted, or the rest of the line; a reason that may be left out is quoted, or stands after a story's id.

    Otherwise `/tdd abort auth2` would give up another story, for the reason "auth2".
    """
    text = _unquoted(rest)
    if isinstance(text, _Problem):
        return text
    if not text:
        return _Problem("its text is missing") if slot.required else (command, "")
    if len(text) > LONGEST_TEXT:
        return _Problem(f"its text is longer than {LONGEST_TEXT:,} characters", "Write it shorter in a new comment.")
    if not slot.required and not command.stories and text == rest:
        return _Problem(f"`{_word(rest)}` is not a story's id; a reason stands in quotes")
    return replace(command, text=text), ""


def _unquoted(rest: str) -> str | _Problem:
    closing = _CLOSES.get(rest[:1], "")
    if not closing:
        return rest
    if len(rest) > 1 and rest[-1] in closing:
        return rest[1:-1].strip()
    if rest[0] != "'" and not any(mark in rest[1:] for mark in closing):
        return _Problem("the quotation is not closed on its line")
    return rest


_TAKE: dict[SlotKind, Callable[[Slot, str, Command], _Taken]] = {
    "story": _take_story,
    "stories": _take_stories,
    "number": _take_number,
    "code": _take_code,
    "command": _take_command,
    "circuit": _take_circuit,
    "text": _take_text,
}
