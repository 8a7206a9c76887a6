"""Describe the results of mutation testing, flakiness checks and call replay for people."""

from __future__ import annotations

from prd2pr.domain.results.mutation import MutantResult, MutationResult, VariationName


def format_mutation_score(mutation: MutationResult) -> str:
    if mutation.problems:
        return "not measured"
    if mutation.judged:
        return f"{mutation.killed} of {len(mutation.judged)} mutants killed"
    detected = sum(each.outcome == "killed" for each in mutation.knock_outs)
    return (
        f"{detected} of {len(mutation.knock_outs)} removed functions detected"
        if mutation.knock_outs
        else "no code to mutate"
    )


def format_mutation_summary(mutation: MutationResult) -> str:
    """Summarize mutation testing for the page of a step."""
    if mutation.problems:
        return f"Mutation testing was not possible: {mutation.problems[0]}."
    parts = [
        ("mutants", mutation.mutants),
        ("functions replaced by an exception", mutation.knock_outs),
        ("wrong expected values", mutation.perturbations),
    ]
    detected = [f"{_format_killed(faults)} {what}" for what, faults in parts if faults]
    return f"Detected by the story's tests: {', '.join(detected)}." if detected else "There was no code to mutate."


CIRCUMSTANCES: dict[VariationName, str] = {
    "reversed": "in the opposite order",
    "twice": "twice in one process",
    "hash_seed": "with another hash seed",
    "clock": "twelve years later",
    "zone": "in another time zone",
    "once_more": "repeatedly",
}


def format_flakiness_summary(mutation: MutationResult) -> str:
    """Summarize the test runs under varied conditions, or return an empty string if there were none."""
    passed = [CIRCUMSTANCES[way.name] for way in mutation.ways if way.outcome == "passed"]
    failed = [CIRCUMSTANCES[way.name] for way in mutation.ways if way.outcome == "failed"]
    unjudged = [f"{CIRCUMSTANCES[way.name]} ({way.why})" for way in mutation.ways if way.outcome == "not_judged"]
    parts = [f"pass {', '.join(passed)}"] if passed else []
    parts += [f"fail {', '.join(failed)}"] if failed else []
    parts += [f"could not be judged {', '.join(unjudged)}"] if unjudged else []
    return f"Run alone, the story's tests {'; '.join(parts)}." if parts else ""


def format_replay_summary(mutation: MutationResult) -> str:
    """Summarize the replay of recorded calls outside of a test run, or return an empty string if there was none."""
    replay = mutation.replay
    if replay is None or not (replay.same or replay.not_judged or replay.differing):
        return ""
    different = f", {len(replay.differing)} with a different result" if replay.differing else ""
    unjudged = f"; {replay.not_judged} could not be judged" if replay.not_judged else ""
    return f"Calls with the same result outside of a test run: {replay.same}{different}{unjudged}."


def _format_killed(faults: tuple[MutantResult, ...]) -> str:
    judged = [fault for fault in faults if fault.outcome in {"killed", "survived"}]
    return f"{sum(fault.outcome == 'killed' for fault in judged)} of {len(judged)}"
