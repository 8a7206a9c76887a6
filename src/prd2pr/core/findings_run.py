"""Findings about a test run (any gate) and about a branch (`prd2pr verify`)."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, law

_RUN: tuple[FindingKind, ...] = (
    law(
        "RUN101",
        "the run is not honest",
        "A canary that must fail did not fail, or result file, events and exit status do not agree. Something "
        "interferes with the run, so none of its results can be believed.",
        bad="the canary that must fail was reported as passed",
        good="the canary that must fail failed, the one that must pass passed, and all counts agree",
        hint="look for hooks, plugins, exits and patched modules in what changed.",
    ),
    law(
        "RUN102",
        "there is no test run to judge",
        "Without a run there is no proof.",
        bad="the evidence holds no run of the head commit",
        good="the evidence holds the run of the head commit",
        hint="judge the commits again.",
    ),
    law(
        "RUN103",
        "the run was not sandboxed, and the policy asks for it",
        "`sandbox: required` is set, and not all of the sandbox could be had.",
        bad="the sandbox of the tests lacks: no network",
        good="namespaces: no network, own user, own processes, read-only, limits, call filter",
        hint="`prd2pr doctor` says what to switch on; or set sandbox to preferred.",
    ),
    advice(
        "RUN104",
        "the run was not sandboxed, or not wholly",
        "What the message names was open to the tests. Their results are sound, but the code could have done harm.",
        bad="the tests ran without a sandbox",
        good="namespaces: no network, own user, own processes, read-only, limits, call filter",
        hint="`prd2pr doctor` says what is missing and what to switch on.",
    ),
    law(
        "RUN105",
        "there is no earlier run to compare with",
        "Without the results of the base commit nobody can say what broke.",
        bad="the evidence holds no run of the base commit",
        good="the evidence holds the runs of both commits",
        hint="judge the commits again.",
    ),
    law(
        "RUN106",
        "the run was ended before its end",
        "The test process was killed or stopped by itself, so that tests may be missing.",
        bad="no exit status, after 12 of 53 tests",
        good="exit status 1, after all 53 tests",
        hint="look for exits, endless loops and exhausted memory.",
    ),
    law(
        "RUN107",
        "the commit would publish a secret of this job",
        "What is pushed is public for good. Every commit is looked through before any branch knows it; one that holds "
        "a key or token of the job, also encoded, counts as a refused attempt.",
        bad="src/shop/points.py holds the value of ANTHROPIC_API_KEY",
        good="src/shop/points.py reads the key from its settings when it needs it",
        hint="see how code or test came to read it, and renew that secret.",
    ),
    advice(
        "RUN108",
        "an old test passes now and then",
        "It passed before the step and failed after it; run again by itself it passes with the step and fails without "
        "it too. The step is not blamed, and the test proves nothing.",
        bad="tests/test_old.py::test_now_and_then asks a random number",
        good="tests/test_old.py::test_always ends alike in every run",
        hint="make the test repeatable, in a commit of its own.",
    ),
    advice(
        "RUN109",
        "layers of the gate that do not exist for this language",
        "Every language has a way through the gates, and Python's has the most layers. What the message names was not "
        "looked at in this step; docs/languages.md has the whole table.",
        bad="not checked here for go test: other circumstances, old code against new",
        good="every layer of the gate was asked",
        hint="nothing has to be done; who reviews the step may look at these himself.",
    ),
    law(
        "RUN110",
        "reaches into another stack than the story's own",
        "A repository may hold several stacks, each with its root, language and runner. A story is proved in one of "
        "them: its tests are run by that stack's runner, and deliberate faults are tried on that stack's code. What it "
        "changes in another one would be proved by nothing.",
        bad="web/src/points.ts changed in a story whose tests are service/tests/tdd/points-1/test_points.py",
        good="points-1 changes service/, and points-2, which depends on it, changes web/",
        hint="take the file out of this step; make a story of its own for the other stack.",
    ),
)

_VERIFY: tuple[FindingKind, ...] = (
    law(
        "VER101",
        "the evidence is not what the trailer names",
        "The digest in the commit's trailer does not fit the evidence file in the same commit: it was edited, or is "
        "missing.",
        bad="Tdd-Evidence: sha256:1f… but the file has 9c…",
        good="Tdd-Evidence: sha256:1f…, and the file in the same commit has that digest",
        hint="do not trust the commit; redo the step.",
    ),
    law(
        "VER102",
        "the code is not what the evidence proves",
        "The evidence is about another code tree than the commit holds: code was changed after it was judged.",
        bad="evidence for tree 1f…, commit holds 9c…",
        good="evidence for tree 1f…, and the commit holds tree 1f…",
        hint="redo the step from its base.",
    ),
    law(
        "VER103",
        "a commit without a step",
        "Nobody has proved what this commit changes. A person may have good reasons for it, but it is no part of the "
        "proof.",
        bad="fix typo, without a Tdd-Step trailer",
        good="green(loyalty-2): redeem at checkout, with Tdd-Step: loyalty/loyalty-2/3",
        hint="review it by hand, or bring it in through a story.",
    ),
    law(
        "VER104",
        "a step is out of order",
        "Steps of a story follow each other without a gap, and each phase only when the one before it was crossed.",
        bad="green(loyalty-1), step 2, follows design(loyalty-1), step 1",
        good="green(loyalty-1), step 3, follows red(loyalty-1), step 2",
        hint="redo the story from the last step that is in order.",
    ),
    law(
        "VER105",
        "the gate refuses when the step is run again",
        "The step was recorded as accepted. Proved again from the commits alone, it is not.",
        bad="run again, the GREEN gate refuses: GRN302, test_redeem fails",
        good="run again, the GREEN gate accepts: 12 of 12 story tests pass",
        hint="look at the findings beside it; a test that depends on this machine is a usual reason.",
    ),
    law(
        "VER106",
        "the state is malformed",
        "A record cannot be read, or holds what this step cannot have written.",
        bad=".orch-state/prds/loyalty/status.json has an unknown key",
        good=".orch-state/prds/loyalty/status.json is what this step makes of the record before it",
        hint="restore the state from the last good commit.",
    ),
    law(
        "VER107",
        "the recorded verdict is not the verdict",
        "What the evidence file says of the step and what the gate says of it now are different things.",
        bad="recorded: 12 passed; seen now: 11 passed, 1 failed",
        good="recorded: accepted, 12 passed; seen now: accepted, 12 passed",
        hint="do not trust the commit; redo the step.",
    ),
    law(
        "VER108",
        "a commit that may not change code changes code",
        "Plan, design and note commits hold records only.",
        bad="design(loyalty-1) changes src/shop/points.py",
        good="design(loyalty-1) changes files under .orch-state/ only",
        hint="take the change out and bring it in through GREEN.",
    ),
    law(
        "VER109",
        "a join is not what its parents make it",
        "A join brings a story's own branch and the PRD's together: git's own merge of the code, the records as they "
        "follow from both, and all passes that passed on either side. This commit is something else.",
        bad="join(loyalty-2) holds a line that neither parent has",
        good="join(loyalty-2) holds what git makes of its parents, and the suite of both passes",
        hint="take the branch back to the join's first parent; `prd2pr run` joins the story again.",
    ),
    law(
        "VER110",
        "there was not enough time to judge the step",
        "A test run was stopped, twice, because it went silent or took too long. A machine with too much to do looks "
        "like that, and so does code that never ends. All that could be seen is as it was recorded. So the step is "
        "neither proved nor refuted: the mark is NOT JUDGED, and the exit status 2 where nothing is worse.",
        bad="the run was stopped after 61 s: it stalled",
        good="the run ended by itself after 9 s",
        hint="verify again when the machine has less to do; `test.stall_seconds` in .prd2pr.yml gives runs more time.",
    ),
)

_STATEMENTS: tuple[FindingKind, ...] = (
    law(
        "VER201",
        "a statement is about something else than the branch holds",
        "The digests of an attestation are not those of a step here: the branch was rewritten since, or the statement "
        "was made for another one.",
        bad="gitCommit 1f…, and no step of this branch is that commit",
        good="gitCommit, gitTree and the evidence's sha256 are those of loyalty/loyalty-2/3",
        hint="make the statements anew with `prd2pr verify --attest`, or take away those of other branches.",
    ),
    law(
        "VER202",
        "a statement says something else than what is proved",
        "An attestation names other results than the evidence in the commit, or attests a step that is not proved.",
        bad="statement: PASSED, test_redeem passed; evidence: test_redeem failed",
        good="statement and evidence name the same tests with the same results",
        hint="do not trust whoever made the statement; the commits and their runs are what counts.",
    ),
    law(
        "VER203",
        "a statement cannot be read",
        "It is no in-toto Statement with the test-result predicate, nor a bundle that holds one.",
        bad='{"hello": "world"}',
        good='{"_type": "https://in-toto.io/Statement/v1", "subject": …, "predicateType": …, "predicate": …}',
        hint="take the file away, or make it anew with `prd2pr verify --attest`.",
    ),
)

RUN_FINDINGS: tuple[FindingKind, ...] = (*_RUN, *_VERIFY, *_STATEMENTS)
