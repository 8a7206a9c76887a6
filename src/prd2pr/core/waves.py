"""Stories side by side on a code host: what the job that plans hands to the jobs that work on one story each.

All of it stands on the branches as well. What is handed on says only who begins, and what each may spend.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from prd2pr.core.budget import Limits
from prd2pr.core.layout import check_id
from prd2pr.core.records import Spend
from prd2pr.core.wording import count
from prd2pr.errors import InputInvalid

MOST_JOBS = 256  # of a matrix, on GitHub
LONGEST_SHARE = 200  # characters
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class Share:
    """What one story job may spend; None: nobody has set a limit."""

    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class StoryOrder:
    """What one story job is told."""

    prd: str
    story: str
    share: Share = Share()


@dataclass(frozen=True)
class Wave:
    """Stories of one PRD that are worked on side by side, each with the commit where it begins or goes on."""

    prd: str
    stories: Mapping[str, str]
    share: Share = Share()

    def as_matrix(self) -> str:
        """For `strategy.matrix.include` of the workflow, and for the job that integrates."""
        share = json.dumps({name: value for name, value in vars(self.share).items() if value is not None})
        return json.dumps([{"story": story, "at": at, "share": share} for story, at in self.stories.items()])

    def sentence(self) -> str:
        return f"{count(len(self.stories), 'story')} side by side: {', '.join(self.stories)}"


# --- what the other jobs are told -------------------------------------------------------------------------------------


def read_order(prd: str, story: str, share: str) -> StoryOrder:
    """Names become branches, and amounts limits: what has another form is refused, whoever wrote it."""
    return StoryOrder(check_id(prd, "PRD id"), check_id(story, "story id"), read_share(share))


def read_share(text: str) -> Share:
    read = read_json(text) if len(text) <= LONGEST_SHARE else None
    if not isinstance(read, dict) or set(read) - {"usd", "tokens"} or not all(map(is_amount, read.values())):
        raise not_ours("what this job may spend", "share")
    tokens = read.get("tokens")
    return Share(read.get("usd"), None if tokens is None else int(tokens))


def is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def read_wave(prd: str, text: str) -> Wave:
    """As the job that integrates is told it. What each was to spend is of no matter by then."""
    rows = read_json(text)
    if not isinstance(rows, list) or len(rows) > MOST_JOBS or not all(map(is_row, rows)):
        raise not_ours("which stories were worked on", "wave")
    return Wave(check_id(prd, "PRD id"), {check_id(row["story"], "story id"): row["at"] for row in rows})


def is_row(row: object) -> bool:
    return (
        isinstance(row, dict) and isinstance(row.get("story"), str) and bool(COMMIT.fullmatch(str(row.get("at") or "")))
    )


def read_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def not_ours(what: str, where: str) -> InputInvalid:
    return InputInvalid(
        f"{what} cannot be read",
        where=where,
        remedy="hand on what the output `wave` of the job in mode plan says, as `prd2pr init` writes it",
    )


# --- money ------------------------------------------------------------------------------------------------------------


def share_of(limits: Limits, spent_run: Spend, spent_prd: Spend, jobs: int) -> Share:
    """What is left of the run's limits and of the PRD's, in equal parts. Dollars that cannot be counted are none."""
    usd = left_of((limits.usd_per_run, spent_run.usd), (limits.usd_per_prd, spent_prd.usd))
    tokens = left_of((limits.tokens_per_run, spent_run.tokens), (limits.tokens_per_prd, spent_prd.tokens))
    return Share(None if usd is None else usd / jobs, None if tokens is None else int(tokens / jobs))


def left_of(*pairs: tuple[float | None, float | None]) -> float | None:
    left = [max(0.0, limit - used) if used is not None else 0.0 for limit, used in pairs if limit is not None]
    return min(left, default=None)


def limited_to(limits: Limits, share: Share) -> Limits:
    """The limits of a story job: its share stands for the run's. Those of story and PRD hold besides."""
    return replace(
        limits,
        usd_per_run=share.usd if share.usd is not None else limits.usd_per_run,
        tokens_per_run=share.tokens if share.tokens is not None else limits.tokens_per_run,
    )


def named_for(record: str, run_number: str) -> str:
    """The id of a job's record, with the number of the run on the code host: its jobs share one budget."""
    return f"{record}-{run_number}" if run_number else record


def is_of(record: str, run_number: str) -> bool:
    return bool(run_number) and record.endswith(f"-{run_number}")


def told_last(records: Iterable[tuple[str, Spend]]) -> dict[str, Spend]:
    """Of a run that several branches tell of, what it came to: a record only grows, and whoever began before it was
    whole has an earlier one."""
    found: dict[str, Spend] = {}
    for name, spend in records:
        found[name] = max(found.get(name, spend), spend, key=lambda it: (it.calls, it.tokens, it.usd or 0))
    return found


def spent_by(records: Mapping[str, Spend]) -> Spend:
    """Of runs by their ids, so that what several branches tell of the same one counts once."""
    return sum(records.values(), Spend())
