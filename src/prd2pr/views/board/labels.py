"""Short labels for cards and tables: age, cost, attempts."""

from __future__ import annotations

from datetime import datetime

from prd2pr.domain.costs.role_costs import NO_PRICE
from prd2pr.domain.records import Spend
from prd2pr.domain.wording import count, format_dollars, format_token_count

MINUTE, HOUR, DAY = 60, 3600, 86_400


def format_spend(spend: Spend) -> str:
    """Format as `12k tokens, $0.14`; empty without tokens, and without money for a recording."""
    if not spend.tokens:
        return ""
    if spend.usd is None:
        return f"{format_token_count(spend.tokens)}, {NO_PRICE}"
    return (
        f"{format_token_count(spend.tokens)}, {format_dollars(spend.usd)}"
        if spend.usd
        else format_token_count(spend.tokens)
    )


def format_age(since: str, now: str) -> str:
    """Format as `3 min ago`, like the script of the pages; empty for an invalid time."""
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
    except (ValueError, TypeError):
        return ""
    if seconds < MINUTE:
        return "just now"
    if seconds < 2 * HOUR:
        return f"{int(seconds // MINUTE)} min ago"
    if seconds < 2 * DAY:
        return f"{int(seconds // HOUR)} h ago"
    return f"{int(seconds // DAY)} days ago"


def format_attempts(attempts: int, refused: int) -> str:
    """Format as `3 attempts, 1 refused`; empty without attempts."""
    if not attempts:
        return ""
    return f"{count(attempts, 'attempt')}, {refused} refused" if refused else count(attempts, "attempt")
