"""How much the tests notice, in a few words for people."""

from __future__ import annotations

from prd2pr.core.bite.record import Bite, Bitten, WayName


def bite_words(bite: Bite) -> str:
    if bite.problems:
        return "not measured"
    if bite.judged:
        return f"{bite.killed} of {len(bite.judged)} faults noticed"
    noticed = sum(each.outcome == "killed" for each in bite.knock_outs)
    return f"{noticed} of {len(bite.knock_outs)} functions noticed" if bite.knock_outs else "no code to try it on"


def bite_sentence(bite: Bite) -> str:
    """What was tried, for the page that shows the step."""
    if bite.problems:
        return f"Deliberate faults say nothing here: {bite.problems[0]}."
    parts = [
        ("small faults in the code", bite.mutants),
        ("functions that raise at once", bite.knock_outs),
        ("wrong expectations", bite.perturbations),
    ]
    told = [f"{_noticed(faults)} {what}" for what, faults in parts if faults]
    return f"Noticed by the story's tests: {', '.join(told)}." if told else "There was no code to try faults on."


WAYS: dict[WayName, str] = {
    "reversed": "in the opposite order",
    "twice": "twice in one process",
    "hash_seed": "with another hash seed",
    "clock": "400 days later",
    "zone": "in another time zone",
    "once_more": "again and again",
}


def ways_sentence(bite: Bite) -> str:
    """How the tests fared in other circumstances; empty where none was tried."""
    passed = [WAYS[way.name] for way in bite.ways if way.outcome == "passed"]
    failed = [WAYS[way.name] for way in bite.ways if way.outcome == "failed"]
    unjudged = [f"{WAYS[way.name]} ({way.why})" for way in bite.ways if way.outcome == "not_judged"]
    told = [f"pass {', '.join(passed)}"] if passed else []
    told += [f"fail {', '.join(failed)}"] if failed else []
    told += [f"could not be judged {', '.join(unjudged)}"] if unjudged else []
    return f"By themselves, the story's tests {'; '.join(told)}." if told else ""


def replay_sentence(bite: Bite) -> str:
    """What calls of the tests gave outside of a test run; empty where none was tried."""
    replay = bite.replay
    if replay is None or not (replay.same or replay.not_judged or replay.differing):
        return ""
    otherwise = f", {len(replay.differing)} something else" if replay.differing else ""
    unjudged = f"; {replay.not_judged} could not be judged" if replay.not_judged else ""
    return f"Calls of the tests that gave the same outside of a test run: {replay.same}{otherwise}{unjudged}."


def _noticed(faults: tuple[Bitten, ...]) -> str:
    judged = [fault for fault in faults if fault.outcome in {"killed", "survived"}]
    return f"{sum(fault.outcome == 'killed' for fault in judged)} of {len(judged)}"
