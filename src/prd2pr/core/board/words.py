"""How long ago, how dear: what cards and tables say in a word or two."""

from __future__ import annotations

from datetime import datetime

from prd2pr.core.records import Spend
from prd2pr.core.role_costs import NO_PRICE
from prd2pr.core.wording import count, dollars, token_count

MINUTE, HOUR, DAY = 60, 3600, 86_400


def cost(spend: Spend) -> str:
    """12k tokens, $0.14; nothing where nothing was spent. A recording costs no money, and then none is named."""
    if not spend.tokens:
        return ""
    if spend.usd is None:
        return f"{token_count(spend.tokens)}, {NO_PRICE}"
    return f"{token_count(spend.tokens)}, {dollars(spend.usd)}" if spend.usd else token_count(spend.tokens)


def age(since: str, now: str) -> str:
    """`3 min ago`; the script of the pages says it in the same words. Empty where one of them is no moment."""
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


def tries(attempts: int, refused: int) -> str:
    """3 attempts, 1 refused; nothing where none was made."""
    if not attempts:
        return ""
    return f"{count(attempts, 'attempt')}, {refused} refused" if refused else count(attempts, "attempt")
