"""Findings about a test run (any gate) and about a branch (`prd2pr verify`)."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, law

_RUN: tuple[FindingKind, ...] = (
    law(
        "RUN101",
        "the run is not honest",
        "A canary that must fail did not fail, or result file, events and exit status do not agree. Something "
        "interferes with the run, so none of its results can be believed.",
        "the canary in tests/ was reported as passed",
        "look for hooks, plugins, exits and patched modules in what changed.",
    ),
    law(
        "RUN102",
        "there is no test run to judge",
        "Without a run there is no proof.",
        "the evidence holds no run of the head commit",
        "judge the commits again.",
    ),
    law(
        "RUN103",
        "the run was not sandboxed, and the policy asks for it",
        "`sandbox: required` is set, and no sandbox could be had.",
        "sandbox: none",
        "install bubblewrap, or set sandbox to preferred. `prd2pr doctor` says what is missing.",
    ),
    advice(
        "RUN104",
        "the run was not sandboxed",
        "The tests ran with the rights of this user and with network. Their results are sound, but the code could "
        "have done harm.",
        "sandbox: none",
        "install bubblewrap; `prd2pr doctor` says what is missing.",
    ),
    law(
        "RUN105",
        "there is no earlier run to compare with",
        "Without the results of the base commit nobody can say what broke.",
        "the evidence holds no run of the base commit",
        "judge the commits again.",
    ),
    law(
        "RUN106",
        "the run was ended before its end",
        "The test process was killed or stopped by itself, so that tests may be missing.",
        "no exit status",
        "look for exits, endless loops and exhausted memory.",
    ),
)

_VERIFY: tuple[FindingKind, ...] = (
    law(
        "VER101",
        "the evidence is not what the trailer names",
        "The digest in the commit's trailer does not fit the evidence file in the same commit: it was edited, or is "
        "missing.",
        "Tdd-Evidence: sha256:1f… but the file has 9c…",
        "do not trust the commit; redo the step.",
    ),
    law(
        "VER102",
        "the code is not what the evidence proves",
        "The evidence is about another code tree than the commit holds: code was changed after it was judged.",
        "evidence for tree 1f…, commit holds 9c…",
        "redo the step from its base.",
    ),
    law(
        "VER103",
        "a commit without a step",
        "Nobody has proved what this commit changes. A person may have good reasons for it, but it is no part of the "
        "proof.",
        "fix typo (no Tdd-Step trailer)",
        "review it by hand, or bring it in through a story.",
    ),
    law(
        "VER104",
        "a step is out of order",
        "Steps of a story follow each other without a gap, and each phase only when the one before it was crossed.",
        "green(loyalty-1) follows design(loyalty-1)",
        "redo the story from the last step that is in order.",
    ),
    law(
        "VER105",
        "the gate refuses when the step is run again",
        "The step was recorded as accepted. Proved again from the commits alone, it is not.",
        "GRN302 test_redeem fails",
        "look at the findings beside it; a test that depends on this machine is a usual reason.",
    ),
    law(
        "VER106",
        "the state is malformed",
        "A record cannot be read, or holds what this step cannot have written.",
        ".orch-state/prds/loyalty/status.json has an unknown key",
        "restore the state from the last good commit.",
    ),
    law(
        "VER107",
        "the recorded verdict is not the verdict",
        "What the evidence file says of the step and what the gate says of it now are different things.",
        "recorded: refused; the step was committed all the same",
        "do not trust the commit; redo the step.",
    ),
    law(
        "VER108",
        "a commit that may not change code changes code",
        "Plan, design and note commits hold records only.",
        "design(loyalty-1) changes src/shop/points.py",
        "take the change out and bring it in through GREEN.",
    ),
)

RUN_FINDINGS: tuple[FindingKind, ...] = (*_RUN, *_VERIFY)
