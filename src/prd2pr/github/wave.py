"""Data that the planning job passes to the jobs of parallel stories.

The branches contain all other data. This data only specifies which stories start, and how much each may spend.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.records import Spend
from prd2pr.domain.scheduling import MAX_JOBS
from prd2pr.domain.wording import count
from prd2pr.errors import InputInvalid
from prd2pr.state.layout import check_id

MAX_SHARE_LENGTH = 200
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class Share:
    """The amount that one story job may spend. None means no limit."""

    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class StoryJobInput:
    prd: str
    story: str
    share: Share = Share()


@dataclass(frozen=True)
class Wave:
    """Stories of one PRD that are worked on in parallel, each with the commit where it starts or continues."""

    prd: str
    stories: Mapping[str, str]
    share: Share = Share()

    def matrix_json(self) -> str:
        """Return the JSON for `strategy.matrix.include` of the workflow and for the integrating job."""
        share = json.dumps({name: value for name, value in vars(self.share).items() if value is not None})
        return json.dumps([{"story": story, "at": at, "share": share} for story, at in self.stories.items()])

    def sentence(self) -> str:
        return f"{count(len(self.stories), 'story')} in parallel: {', '.join(self.stories)}"


# --- input of the other jobs ------------------------------------------------------------------------------------------


def parse_story_job(prd: str, story: str, share: str) -> StoryJobInput:
    """Parse and validate the input. Names become branches, and amounts become limits."""
    return StoryJobInput(check_id(prd, "PRD id"), check_id(story, "story id"), parse_share(share))


def parse_share(text: str) -> Share:
    read = parse_json_or_none(text) if len(text) <= MAX_SHARE_LENGTH else None
    if not isinstance(read, dict) or set(read) - {"usd", "tokens"} or not all(map(is_amount, read.values())):
        raise make_invalid_wave_input_error("this job's share of the budget", "share")
    tokens = read.get("tokens")
    return Share(read.get("usd"), None if tokens is None else int(tokens))


def is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def parse_wave(prd: str, text: str) -> Wave:
    """Parse the input of the integrating job. Shares are ignored."""
    rows = parse_json_or_none(text)
    if not isinstance(rows, list) or len(rows) > MAX_JOBS or not all(map(is_wave_row, rows)):
        raise make_invalid_wave_input_error("the list of stories", "wave")
    return Wave(check_id(prd, "PRD id"), {check_id(row["story"], "story id"): row["at"] for row in rows})


def is_wave_row(row: object) -> bool:
    return (
        isinstance(row, dict) and isinstance(row.get("story"), str) and bool(COMMIT.fullmatch(str(row.get("at") or "")))
    )


def parse_json_or_none(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def make_invalid_wave_input_error(what: str, where: str) -> InputInvalid:
    return InputInvalid(
        f"{what} is not valid",
        where=where,
        remedy="pass on the output `wave` of the job in mode plan, as the workflow of `prd2pr init` does",
    )


# --- money ------------------------------------------------------------------------------------------------------------


def split_budget(limits: UsageLimits, spent_run: Spend, spent_prd: Spend, jobs: int) -> Share:
    """Split the remaining budget of the run and the PRD equally. If the cost is unknown, nothing remains."""
    usd = compute_remaining_amount((limits.usd_per_run, spent_run.usd), (limits.usd_per_prd, spent_prd.usd))
    tokens = compute_remaining_amount(
        (limits.tokens_per_run, spent_run.tokens), (limits.tokens_per_prd, spent_prd.tokens)
    )
    return Share(None if usd is None else usd / jobs, None if tokens is None else int(tokens / jobs))


def compute_remaining_amount(*pairs: tuple[float | None, float | None]) -> float | None:
    left = [max(0.0, limit - used) if used is not None else 0.0 for limit, used in pairs if limit is not None]
    return min(left, default=None)


def apply_share(limits: UsageLimits, share: Share) -> UsageLimits:
    """Replace the limits of the run with the share. The limits of story and PRD still apply."""
    return replace(
        limits,
        usd_per_run=share.usd if share.usd is not None else limits.usd_per_run,
        tokens_per_run=share.tokens if share.tokens is not None else limits.tokens_per_run,
    )


def make_run_record_id(record: str, run_number: str) -> str:
    """Add the number of the workflow run to the id of a job's record, because its jobs share one budget."""
    return f"{record}-{run_number}" if run_number else record


def is_record_of_run(record: str, run_number: str) -> bool:
    return bool(run_number) and record.endswith(f"-{run_number}")


def find_latest_spend_by_run(records: Iterable[tuple[str, Spend]]) -> dict[str, Spend]:
    """Return the highest spend for each run. Records only grow, and a branch may contain an earlier copy."""
    found: dict[str, Spend] = {}
    for name, spend in records:
        found[name] = max(found.get(name, spend), spend, key=lambda it: (it.calls, it.tokens, it.usd or 0))
    return found


def compute_total_spend(records: Mapping[str, Spend]) -> Spend:
    """Sum up the runs. Each run counts once, even if several branches contain it."""
    return sum(records.values(), Spend())
