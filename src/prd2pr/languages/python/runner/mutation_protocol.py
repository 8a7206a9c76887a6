"""Builds the launcher's parameters for a mutation run and reads its events."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from prd2pr.domain.results.mutation import (
    CallReplay,
    MemorizedFunction,
    MutantResult,
    MutationResult,
    ReplayDifference,
    TestVariation,
)
from prd2pr.domain.timeouts import describe_stopped_run
from prd2pr.languages.mutation_plan import KNOCK_OUT_PLACEHOLDER, Fault
from prd2pr.languages.python.mutation.expectations import PERTURBATION_PLACEHOLDER
from prd2pr.languages.python.mutation.overfitting import find_overfitting, read_answer
from prd2pr.languages.python.mutation.plan import find_perturbations
from prd2pr.languages.python.runner.canary import Canary
from prd2pr.languages.test_runner import MutationRequest
from prd2pr.sandbox.process import ProcessRecord

MAX_FRESH_RUNS = 3  # mutants that need a new pytest session: module constants, code that runs on import
# Failure messages are not used here, and formatting them takes longer than most tests.
QUIET_OPTIONS = ("--tb=no", "--verbosity=0")
MUTATION_SECONDS = 120  # time limit for all faults of a step, after the baseline


def build_mutation_parameters(
    request: MutationRequest, canaries: list[Canary], texts: dict[str, str]
) -> dict[str, Any]:
    """Build the launcher's parameters for a mutation run. `texts` maps the canaries' paths to their source."""
    names = {PERTURBATION_PLACEHOLDER: f"_{secrets.token_hex(8)}", KNOCK_OUT_PLACEHOLDER: f"_{secrets.token_hex(8)}"}
    canary = canaries[0]
    function = canary.passing.partition("::")[2]
    wrong = [fault for fault in find_perturbations({canary.path: texts[canary.path]}) if fault.function == function]
    plan = request.plan
    return {
        "tests": list(request.tests),
        "hidden": list(canary.ids),
        "failing": canary.failing,
        "files": sorted({*(test.partition("::")[0] for test in request.tests), canary.path}),
        "knock_outs": _encode_faults(plan.knock_outs, names),
        "mutants": _encode_faults(plan.mutants, names),
        "perturbations": _encode_faults(plan.perturbations, names),
        "canaries": _encode_faults(wrong, names),
        "perturbed": names[PERTURBATION_PLACEHOLDER],
        "most": request.most,
        "most_anew": min(MAX_FRESH_RUNS, request.most),
        "seconds": MUTATION_SECONDS,
        "flakiness": request.ways,
    }


def _encode_faults(faults: Iterable[Fault], names: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for fault in faults:
        start, end, text = fault.edit
        for placeholder, name in names.items():
            text = text.replace(placeholder, name)
        found.append({**asdict(fault), "edit": (start, end, text)})
    return found


def read_mutation_result(
    watched: ProcessRecord, nonce: str, request: MutationRequest, private_paths: Iterable[str]
) -> MutationResult:
    """Read the events of a mutation run.

    The record counts only if it is complete and written solely by the launcher.
    """
    facts, ended = read_facts(watched.events, nonce, "mutation_end")
    problems = [remove_paths(str(fact["problem"]), private_paths) for fact in facts if "problem" in fact]
    if watched.killed:
        problems.append(describe_stopped_run("trying the faults", watched.killed))
    elif not ended and not problems:
        problems.append(f"the mutation run ended early{get_last_output_line(watched.output)}")
    outcomes = {str(fact["fault"]): fact for fact in facts if "fault" in fact}
    plan = request.plan
    return MutationResult(
        knock_outs=_read_fault_results(plan.knock_outs, outcomes),
        mutants=_read_fault_results(plan.mutants, outcomes),
        perturbations=_read_fault_results(plan.perturbations, outcomes),
        indifferent=() if problems else tuple(test for fact in facts for test in fact.get("indifferent", ())),
        ways=() if problems else _read_variations(facts, request),
        replay=None if problems else _read_replay(facts),
        problems=tuple(dict.fromkeys(problems)),
        seconds=round(watched.seconds, 3),
    )


def read_facts(data: bytes, nonce: str, end: str) -> tuple[list[dict[str, Any]], bool]:
    """Parse the facts up to the end event. Return them and whether the end was reached."""
    facts: list[dict[str, Any]] = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            fact = json.loads(line)
        except ValueError:
            return [{"problem": "something other than the launcher wrote to the event log"}], False
        if fact.get("nonce") != nonce or fact.get("n") != number:
            return [{"problem": "something other than the launcher wrote to the event log"}], False
        if fact["event"] == end:
            return facts, True
        facts.append(fact)
    return facts, False


def _read_variations(facts: Iterable[Mapping[str, Any]], request: MutationRequest) -> tuple[TestVariation, ...]:
    """Return the outcomes under varied conditions.

    The hash seed counts as one of them, because the mutation run uses a different seed than the suite's run.
    """
    reported = [
        TestVariation(name=fact["variation"], outcome=fact["outcome"], tests=tuple(fact["tests"]), why=fact["why"])
        for fact in facts
        if "variation" in fact
    ]
    seeded = [TestVariation(name="hash_seed", outcome="passed")] if request.hash_seed else []
    return tuple(sorted([*reported, *seeded] if reported else [], key=lambda way: way.name))


def _read_replay(facts: Iterable[Mapping[str, Any]]) -> CallReplay | None:
    counted = [fact for fact in facts if "replayed" in fact]
    found = {ReplayDifference(**fact["differs"]): None for fact in facts if "differs" in fact}
    differing = tuple(sorted(found, key=lambda each: (each.path, each.line, each.test, each.shown)))
    if not counted:
        return None
    recited = tuple(each for fact in facts if "near" in fact for each in _find_overfitted(fact["near"]))
    return CallReplay(
        same=counted[0]["replayed"], not_judged=counted[0]["unjudged"], differing=differing, recited=recited
    )


def _find_overfitted(fact: Mapping[str, Any]) -> Iterator[MemorizedFunction]:
    cases, near = tuple(map(read_answer, fact["cases"])), tuple(map(read_answer, fact["near"]))
    if example := find_overfitting(cases, near):
        location = {key: fact[key] for key in ("path", "line", "function")}
        yield MemorizedFunction(**location, examples=len(cases), near=len(near), shown=example)


def _read_fault_results(faults: Iterable[Fault], outcomes: Mapping[str, Mapping[str, Any]]) -> tuple[MutantResult, ...]:
    found = [
        MutantResult(
            id=fault.id,
            path=fault.path,
            line=fault.line,
            function=fault.function,
            change=fault.change,
            outcome=outcomes[fault.id]["outcome"],
            by=outcomes[fault.id]["by"],
            why=outcomes[fault.id]["why"],
            elsewhere=outcomes[fault.id].get("elsewhere", ""),
        )
        for fault in faults
        if fault.id in outcomes
    ]
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.id)))


def remove_paths(text: str, paths: Iterable[str]) -> str:
    """Remove local directories from a message."""
    for place in paths:
        text = text.replace(place + "/", "").replace(place, "")
    return text


def get_last_output_line(output: str) -> str:
    """Return the last line of the output in a form to append to an error message."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f": {lines[-1][:200]}" if lines else ""
