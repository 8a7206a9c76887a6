"""Findings about a test run. Any gate can report them."""

from __future__ import annotations

from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error, define_warning

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RUN101",
        "the test run was manipulated",
        "A canary that must fail did not fail, or the result file, the events and the exit status contradict each "
        "other. Something interferes with the run, so its results cannot be trusted.",
        bad="the canary that must fail was reported as passed",
        good="the canary that must fail failed, the one that must pass passed, and all counts match",
        remedy="look for hooks, plugins, exits and patched modules in the changes.",
    ),
    define_strict_error(
        "RUN102",
        "there is no test run to judge",
        "Without a run there is no proof.",
        bad="the evidence contains no run of the head commit",
        good="the evidence contains the run of the head commit",
        remedy="judge the commits again.",
    ),
    define_strict_error(
        "RUN103",
        "the run was not sandboxed, but the policy requires it",
        "`sandbox: required` is set, or the run is in GitHub Actions, where that is the default. Not all protections "
        "of the sandbox are available.",
        bad="the test sandbox lacks: no network",
        good="namespaces: no network, own user, own processes, read-only, limits, call filter",
        remedy="run `prd2pr doctor` to see what to enable, or set sandbox to preferred.",
    ),
    define_warning(
        "RUN104",
        "the run was not sandboxed, or only partly",
        "The protections named in the message were missing. The results are valid, but the code could have done what "
        "the message says.",
        bad="the tests ran without a sandbox",
        good="namespaces: no network, own user, own processes, read-only, limits, call filter",
        remedy="run `prd2pr doctor` to see what is missing and how to enable it.",
    ),
    define_strict_error(
        "RUN105",
        "there is no earlier run to compare with",
        "Without the results of the base commit it is unknown what broke.",
        bad="the evidence contains no run of the base commit",
        good="the evidence contains the runs of both commits",
        remedy="judge the commits again.",
    ),
    define_strict_error(
        "RUN106",
        "the run was terminated early",
        "The test process was killed or exited early, so tests may be missing.",
        bad="no exit status, after 12 of 53 tests",
        good="exit status 1, after all 53 tests",
        remedy="look for exits, endless loops and high memory use.",
    ),
    define_strict_error(
        "RUN107",
        "the commit would publish a secret of this job",
        "A secret that has been pushed is no longer secret. Every commit is scanned before it is pushed. A commit that "
        "contains a key or token of the job, even encoded, counts as a refused attempt.",
        bad="src/shop/points.py contains the value of ANTHROPIC_API_KEY",
        good="src/shop/points.py reads the key from its settings when it needs it",
        remedy="find out how the code or the test read the secret, then rotate the secret.",
    ),
    define_warning(
        "RUN108",
        "an existing test is flaky",
        "It passed before the step and failed after it. Repeated alone, it also passes with the step and fails "
        "without it. The step is not blamed, but the test proves nothing.",
        bad="tests/test_old.py::test_now_and_then depends on a random number",
        good="tests/test_old.py::test_always has the same result in every run",
        remedy="make the test repeatable in a separate commit.",
    ),
    define_warning(
        "RUN109",
        "some checks of the gate do not exist for this language",
        "Every language can pass the gates, but Python has the most checks. The checks named in the message were "
        "not applied in this step; docs/languages.md has the full table.",
        bad="not checked for go test: other circumstances, differential testing",
        good="every check of the gate was applied",
        remedy="no action is needed; reviewers may check these points themselves.",
    ),
    define_strict_error(
        "RUN110",
        "changes a stack other than the story's",
        "A repository may contain several stacks, each with its own root, language and runner. A story is proved "
        "in one of them: that stack's runner runs its tests, and mutants are tried on that stack's code. Changes "
        "in another stack would not be proved.",
        bad="web/src/points.ts changed in a story whose tests are service/tests/tdd/points-1/test_points.py",
        good="points-1 changes service/, and points-2, which depends on it, changes web/",
        remedy="remove the file from this step; create a separate story for the other stack.",
    ),
    define_strict_error(
        "RUN111",
        "a rule could not be applied",
        "A rule of the gate crashed on this step, which is a bug in prd2pr and not a mistake in the step. All other "
        "rules were applied. The step is not accepted, because this rule might have refused it. If nothing else is "
        "wrong, the verdict is `not judged` and the exit status 2.",
        bad="check_oracles: ValueError: … (oracle.py:119 _read < oracle.py:84 check_oracles; prd2pr 0.2.0)",
        good="every rule was applied",
        remedy="paste the message into an issue of prd2pr; until it is fixed, write the named code in another way.",
    ),
    define_warning(
        "RUN112",
        "a rule that only warns could not be applied",
        "A rule of the gate crashed on this step, which is a bug in prd2pr. The rule reports only warnings, so the "
        "verdict is the same without it.",
        bad="check_style: ValueError: … (style.py:12 check_style; prd2pr 0.2.0)",
        good="every rule was applied",
        remedy="paste the message into an issue of prd2pr.",
    ),
)
