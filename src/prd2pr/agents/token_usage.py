"""Token usage of model calls by part of the prompt, by role and by story.

A provider reports how many tokens of a prompt were fresh and how many were cached, but not for which part. The split by
part is therefore an estimate: tokens are proportional to characters, and cached tokens come first, because a prompt
cache stores prefixes only. If the provider reports no counts, four characters count as one fresh token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prd2pr.domain.costs.context_budget import CHARACTERS_PER_TOKEN
from prd2pr.domain.costs.role_costs import get_role
from prd2pr.domain.wording import count, format_tokens

UNKNOWN = "not recorded"  # calls of earlier versions, which logged no parts
RULE = (
    "The split by part is an estimate: a call's tokens in proportion to the characters of each part, cached ones "
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


def split_by_part(pieces: Sequence[tuple[str, int]], fresh: int, cached: int) -> dict[str, PartTokens]:
    """Split token counts by part without changing the totals.

    `pieces` lists the part and the number of characters of each piece, in the order sent.
    """
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


# --- sums over a log --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenSum:
    calls: int = 0
    fresh: int = 0
    cached: int = 0
    output: int = 0

    @property
    def share(self) -> float:
        """The share of input tokens that came from the provider's cache."""
        return self.cached / (self.fresh + self.cached) if self.cached else 0.0

    def __add__(self, other: TokenSum) -> TokenSum:
        return TokenSum(
            self.calls + other.calls,
            self.fresh + other.fresh,
            self.cached + other.cached,
            self.output + other.output,
        )


@dataclass(frozen=True)
class TokenReport:
    total: TokenSum = field(default_factory=TokenSum)
    # Without each story's first call, which cannot read from the cache.
    later: TokenSum = field(default_factory=TokenSum)
    roles: Mapping[str, TokenSum] = field(default_factory=dict)
    stories: Mapping[str, TokenSum] = field(default_factory=dict)
    parts: Mapping[str, PartTokens] = field(default_factory=dict)


def build_token_report(lines: Iterable[Mapping[str, Any]]) -> TokenReport:
    total, later = TokenSum(), TokenSum()
    roles: dict[str, TokenSum] = {}
    stories: dict[str, TokenSum] = {}
    parts: dict[str, PartTokens] = {}
    for line in lines:
        if line["kind"] != "call" or "input_tokens" not in line:  # a failed call has no token counts
            continue
        purpose = str(line["purpose"])
        role, story = get_role(purpose), purpose.partition("/")[0]
        one = TokenSum(1, *(int(line.get(name) or 0) for name in ("input_tokens", "cached_tokens", "output_tokens")))
        total += one
        later += one if story in stories else TokenSum()
        roles[role] = roles.get(role, TokenSum()) + one
        stories[story] = stories.get(story, TokenSum()) + one
        for part, tokens_of in _read_parts(line, one).items():
            parts[part] = parts.get(part, PartTokens()) + tokens_of
    return TokenReport(total, later, roles, stories, parts)


def _read_parts(line: Mapping[str, Any], one: TokenSum) -> dict[str, PartTokens]:
    logged = line.get("parts")
    if not isinstance(logged, dict):
        return {UNKNOWN: PartTokens(one.fresh, one.cached)}
    numbers = ((part, [int(each.get(name, 0)) for name in PartTokens._fields]) for part, each in logged.items())
    return {str(part): PartTokens(*each) for part, each in numbers}


def token_report_to_json(report: TokenReport) -> dict[str, Any]:
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


def _sum_json(each: TokenSum) -> dict[str, Any]:
    read = {"calls": each.calls, "fresh": each.fresh, "cached": each.cached, "output": each.output}
    return {**read, "cached_share": round(each.share, 3)}


def format_token_report(report: TokenReport) -> list[str]:
    """Format the report for a terminal: the total first, then tables with the largest rows first."""
    whole = report.total
    if not whole.calls:
        return ["No calls recorded yet."]
    later = f", {report.later.share:.0%} from the second call of a story on" if report.later.calls else ""
    total = (
        f"{count(whole.calls, 'call')} read {format_tokens(whole.fresh + whole.cached)} tokens, {whole.share:.0%} of "
        f"them from the cache{later}, and wrote {format_tokens(whole.output)}."
    )
    parts = {name: TokenSum(0, *each) for name, each in report.parts.items()}
    blocks = (("role", report.roles), ("story", report.stories), ("part of the prompt, estimated", parts))
    return [total, *(line for title, sums in blocks for line in ("", *_format_table(title, sums))), "", RULE]


def _format_table(title: str, sums: Mapping[str, TokenSum]) -> list[str]:
    ordered = sorted(sums.items(), key=lambda each: (-each[1].fresh - each[1].cached, each[0]))
    rows = [
        (name, format_tokens(each.fresh), format_tokens(each.cached), f"{each.share:.0%}") for name, each in ordered
    ]
    width = max(len(title), *(len(name) for name, *_ in rows))
    head = f"{title:<{width}}  {'fresh':>7}  {'cached':>7}  {'share':>5}"
    return [head, *(f"{name:<{width}}  {fresh:>7}  {cached:>7}  {share:>5}" for name, fresh, cached, share in rows)]
