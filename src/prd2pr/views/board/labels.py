"""Short labels for cards and tables: cost and attempts."""

from __future__ import annotations

from prd2pr.domain.costs.role_costs import NO_PRICE
from prd2pr.domain.records import Spend
from prd2pr.domain.wording import count, format_dollars, format_token_count


def format_spend(spend: Spend) -> str:
    """Format spending as `12k tokens, $0.14`. Empty without tokens; replayed calls show no price."""
    if not spend.tokens:
        return ""
    if spend.usd is None:
        return f"{format_token_count(spend.tokens)}, {NO_PRICE}"
    return (
        f"{format_token_count(spend.tokens)}, {format_dollars(spend.usd)}"
        if spend.usd
        else format_token_count(spend.tokens)
    )


def format_attempts(attempts: int, refused: int) -> str:
    """Format the attempts as `3 attempts, 1 refused`, or return an empty string if there were no attempts."""
    if not attempts:
        return ""
    return f"{count(attempts, 'attempt')}, {refused} refused" if refused else count(attempts, "attempt")
