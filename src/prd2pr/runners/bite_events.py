"""What the launcher told of the faults that it tried, parsed at the door."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prd2pr.core.bite.knowing import answered, knows_only
from prd2pr.core.bite.plan import Fault
from prd2pr.core.bite.record import Bite, Bitten, Differing, Recited, Replay, Way
from prd2pr.core.out_of_time import stopped
from prd2pr.ports import BiteRequest
from prd2pr.runners.watch import Watched


def read_bite(watched: Watched, nonce: str, request: BiteRequest, hidden: Iterable[str]) -> Bite:
    """Only what was told in one piece, to its end, by the launcher alone counts."""
    facts, ended = facts_told(watched.events, nonce, "bitten")
    problems = [tidy_place(str(fact["problem"]), hidden) for fact in facts if "problem" in fact]
    if watched.killed:
        problems.append(stopped("trying the faults", watched.killed))
    elif not ended and not problems:
        problems.append(f"the process that tries the faults ended early{last_words(watched.output)}")
    told = {str(fact["fault"]): fact for fact in facts if "fault" in fact}
    plan = request.plan
    return Bite(
        knock_outs=_bitten(plan.knock_outs, told),
        mutants=_bitten(plan.mutants, told),
        perturbations=_bitten(plan.perturbations, told),
        indifferent=() if problems else tuple(test for fact in facts for test in fact.get("indifferent", ())),
        ways=() if problems else _ways(facts, request),
        replay=None if problems else _replay(facts),
        problems=tuple(dict.fromkeys(problems)),
        seconds=round(watched.seconds, 3),
    )


def facts_told(data: bytes, nonce: str, end: str) -> tuple[list[dict[str, Any]], bool]:
    facts: list[dict[str, Any]] = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            fact = json.loads(line)
        except ValueError:
            return [{"problem": "the record of the run was written to by something else"}], False
        if fact.get("nonce") != nonce or fact.get("n") != number:
            return [{"problem": "the record of the run was written to by something else"}], False
        if fact["event"] == end:
            return facts, True
        facts.append(fact)
    return facts, False


def _ways(facts: Iterable[Mapping[str, Any]], request: BiteRequest) -> tuple[Way, ...]:
    """All of this ran with another hash seed than the run of the whole suite."""
    told = [
        Way(name=fact["way"], outcome=fact["outcome"], tests=tuple(fact["tests"]), why=fact["why"])
        for fact in facts
        if "way" in fact
    ]
    seeded = [Way(name="hash_seed", outcome="passed")] if request.hash_seed else []
    return tuple(sorted([*told, *seeded] if told else [], key=lambda way: way.name))


def _replay(facts: Iterable[Mapping[str, Any]]) -> Replay | None:
    counted = [fact for fact in facts if "replayed" in fact]
    found = {Differing(**fact["differs"]): None for fact in facts if "differs" in fact}
    differing = tuple(sorted(found, key=lambda each: (each.path, each.line, each.test, each.shown)))
    if not counted:
        return None
    recited = tuple(each for fact in facts if "near" in fact for each in _recited(fact["near"]))
    return Replay(same=counted[0]["replayed"], not_judged=counted[0]["unjudged"], differing=differing, recited=recited)


def _recited(fact: Mapping[str, Any]) -> Iterator[Recited]:
    cases, near = tuple(map(answered, fact["cases"])), tuple(map(answered, fact["near"]))
    if shown := knows_only(cases, near):
        where = {key: fact[key] for key in ("path", "line", "function")}
        yield Recited(**where, examples=len(cases), near=len(near), shown=shown)


def _bitten(faults: Iterable[Fault], told: Mapping[str, Mapping[str, Any]]) -> tuple[Bitten, ...]:
    found = [
        Bitten(
            id=fault.id,
            path=fault.path,
            line=fault.line,
            function=fault.function,
            change=fault.change,
            outcome=told[fault.id]["outcome"],
            by=told[fault.id]["by"],
            why=told[fault.id]["why"],
        )
        for fault in faults
        if fault.id in told
    ]
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.id)))


def tidy_place(text: str, hidden: Iterable[str]) -> str:
    for place in hidden:
        text = text.replace(place + "/", "").replace(place, "")
    return text


def last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f": {lines[-1][:200]}" if lines else ""
