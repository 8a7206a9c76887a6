"""What the comparison of old code with new says, in a sentence for people."""

from __future__ import annotations

from prd2pr.core.parity.record import Parity
from prd2pr.core.wording import count


def parity_sentence(parity: Parity) -> str:
    if parity.problems:
        return f"Old code and new could not be compared: {parity.problems[0]}."
    calls = sum(each.calls - each.unjudged for each in parity.functions)
    if not calls:
        return "There was no public function whose calls could be compared before and after."
    unjudged = sum(each.unjudged for each in parity.functions)
    differing = sum(each.differing for each in parity.functions)
    ended = f"{differing:,} ended in another way" if differing else "all ended the same way"
    left = f"; {unjudged:,} more depend on time, chance or the outside and were not judged" if unjudged else ""
    return (
        f"{count(calls, 'call')} of {count(len(parity.functions), 'public function')}, before and after: {ended}{left}."
    )
