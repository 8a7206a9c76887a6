"""Where the tokens of calls went: by part of the prompt, by role, by story. Pure.

A provider says how many tokens of a prompt were fresh and how many cached, but not of which part. So both are shared
out by one rule, and what comes of it is an estimate and called so: the parts stand in the order of the wire and have
tokens in proportion to their characters; the cached ones are the first, since a prompt cache holds beginnings and
nothing else. Of a call whose provider counts nothing, four characters are a token, and none is cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prd2pr.core.packs import CHARACTERS_PER_TOKEN
from prd2pr.core.role_costs import role_of
from prd2pr.core.wording import count, tokens

UNKNOWN = "not said"  # calls of earlier versions, which logged no parts
RULE = (
    "By part it is an estimate: a call's tokens in proportion to the characters of each part, and the cached ones "
    "first, in the order in which the prompt was sent."
)


class PartTokens(NamedTuple):
    fresh: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        return self.fresh + self.cached

    def __add__(self, other: object) -> PartTokens:
        assert isinstance(other, PartTokens)
        return PartTokens(self.fresh + other.fresh, self.cached + other.cached)


def by_part(pieces: Sequence[tuple[str, int]], fresh: int, cached: int) -> dict[str, PartTokens]:
    """`pieces`: part and characters of each piece of a prompt, as it was sent. The sums are exactly what was given."""
    characters = sum(size for _, size in pieces)
    total = fresh + cached or -(-characters // CHARACTERS_PER_TOKEN)
    found: dict[str, PartTokens] = {}
    read = before = 0
    for part, size in pieces:
        read += size
        end = total * read // characters if characters else 0
        reused = max(0, min(end, cached) - min(before, cached))
        found[part] = found.get(part, PartTokens()) + PartTokens(end - before - reused, reused)
        before = end
    return found


# --- added up over a log ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    calls: int = 0
    fresh: int = 0
    cached: int = 0
    output: int = 0

    @property
    def share(self) -> float:
        """Of what was read, how much came from the provider's cache."""
        return self.cached / (self.fresh + self.cached) if self.cached else 0.0

    def __add__(self, other: Sum) -> Sum:
        return Sum(
            self.calls + other.calls,
            self.fresh + other.fresh,
            self.cached + other.cached,
            self.output + other.output,
        )


@dataclass(frozen=True)
class TokenReport:
    total: Sum = field(default_factory=Sum)
    later: Sum = field(default_factory=Sum)  # without each story's first call, which has nothing to read again
    roles: Mapping[str, Sum] = field(default_factory=dict)
    stories: Mapping[str, Sum] = field(default_factory=dict)
    parts: Mapping[str, PartTokens] = field(default_factory=dict)


def token_report(lines: Iterable[Mapping[str, Any]]) -> TokenReport:
    total, later = Sum(), Sum()
    roles: dict[str, Sum] = {}
    stories: dict[str, Sum] = {}
    parts: dict[str, PartTokens] = {}
    for line in lines:
        if line["kind"] != "call" or "input_tokens" not in line:  # a failed call has counted nothing
            continue
        purpose = str(line["purpose"])
        role, story = role_of(purpose), purpose.partition("/")[0]
        one = Sum(1, *(int(line.get(name) or 0) for name in ("input_tokens", "cached_tokens", "output_tokens")))
        total += one
        later += one if story in stories else Sum()
        roles[role] = roles.get(role, Sum()) + one
        stories[story] = stories.get(story, Sum()) + one
        for part, tokens_of in _parts(line, one).items():
            parts[part] = parts.get(part, PartTokens()) + tokens_of
    return TokenReport(total, later, roles, stories, parts)


def _parts(line: Mapping[str, Any], one: Sum) -> dict[str, PartTokens]:
    logged = line.get("parts")
    if not isinstance(logged, dict):
        return {UNKNOWN: PartTokens(one.fresh, one.cached)}
    return {str(part): PartTokens(int(each["fresh"]), int(each["cached"])) for part, each in logged.items()}


def report_json(report: TokenReport) -> dict[str, Any]:
    return {
        **_sum_json(report.total),
        "cached_share_from_second_call": round(report.later.share, 3),
        "roles": {name: _sum_json(each) for name, each in report.roles.items()},
        "stories": {name: _sum_json(each) for name, each in report.stories.items()},
        "parts_estimated": {
            name: {**each._asdict(), "cached_share": round(each.cached / each.total, 3) if each.total else 0.0}
            for name, each in report.parts.items()
        },
        "rule": RULE,
    }


def _sum_json(each: Sum) -> dict[str, Any]:
    read = {"calls": each.calls, "fresh": each.fresh, "cached": each.cached, "output": each.output}
    return {**read, "cached_share": round(each.share, 3)}


def report_lines(report: TokenReport) -> list[str]:
    """For a terminal: the sum first, then where it went, the most of each first."""
    whole = report.total
    if not whole.calls:
        return ["No call is recorded yet."]
    later = f", {report.later.share:.0%} from the second call of a story on" if report.later.calls else ""
    said = (
        f"{count(whole.calls, 'call')} read {tokens(whole.fresh + whole.cached)} tokens, {whole.share:.0%} of them "
        f"from the cache{later}, and wrote {tokens(whole.output)}."
    )
    parts = {name: Sum(0, *each) for name, each in report.parts.items()}
    blocks = (("role", report.roles), ("story", report.stories), ("part of the prompt, estimated", parts))
    return [said, *(line for title, sums in blocks for line in ("", *_table(title, sums))), "", RULE]


def _table(title: str, sums: Mapping[str, Sum]) -> list[str]:
    ordered = sorted(sums.items(), key=lambda each: (-each[1].fresh - each[1].cached, each[0]))
    rows = [(name, tokens(each.fresh), tokens(each.cached), f"{each.share:.0%}") for name, each in ordered]
    width = max(len(title), *(len(name) for name, *_ in rows))
    head = f"{title:<{width}}  {'fresh':>7}  {'cached':>7}  {'share':>5}"
    return [head, *(f"{name:<{width}}  {fresh:>7}  {cached:>7}  {share:>5}" for name, fresh, cached, share in rows)]
