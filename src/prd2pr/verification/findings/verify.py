"""Findings of `prd2pr verify` about a branch, its commits and its attestations."""

from __future__ import annotations

from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "VER101",
        "the evidence does not match the trailer",
        "The digest in the commit's trailer does not match the evidence file in the same commit: the file was "
        "edited or is missing.",
        bad="Tdd-Evidence: sha256:1f… but the file has 9c…",
        good="Tdd-Evidence: sha256:1f…, and the file in the same commit has that digest",
        remedy="do not trust the commit; redo the step.",
    ),
    define_strict_error(
        "VER102",
        "the code does not match the evidence",
        "The evidence is about a different code tree than the commit contains: the code was changed after it was "
        "judged.",
        bad="evidence for tree 1f…, but the commit contains 9c…",
        good="evidence for tree 1f…, and the commit contains tree 1f…",
        remedy="redo the step from its base.",
    ),
    define_strict_error(
        "VER103",
        "a commit without a step",
        "No step proves what this commit changes. A person may have good reasons for it, but it is not part of "
        "the proof.",
        bad="fix typo, without a Tdd-Step trailer",
        good="green(loyalty-2): redeem at checkout, with Tdd-Step: loyalty/loyalty-2/3",
        remedy="review it manually, or add it through a story.",
    ),
    define_strict_error(
        "VER104",
        "a step is out of order",
        "The steps of a story are numbered without gaps, and a phase starts only after the previous one has passed.",
        bad="green(loyalty-1), step 2, follows design(loyalty-1), step 1",
        good="green(loyalty-1), step 3, follows red(loyalty-1), step 2",
        remedy="redo the story from the last step in the right order.",
    ),
    define_strict_error(
        "VER105",
        "the gate refuses when the step is repeated",
        "The step was recorded as accepted. When it is proved again from the commits alone, the gate refuses it.",
        bad="repeated, the GREEN gate refuses: GRN302, test_redeem fails",
        good="repeated, the GREEN gate accepts: 12 of 12 story tests pass",
        remedy="look at the findings of the repeated gate; a common cause is a test that depends on the machine.",
    ),
    define_strict_error(
        "VER106",
        "the state is invalid",
        "A record cannot be read, or contains something that this step cannot have written.",
        bad=".orch-state/prds/loyalty/status.json has an unknown key",
        good=".orch-state/prds/loyalty/status.json follows from the previous record and this step",
        remedy="restore the state from the last good commit.",
    ),
    define_strict_error(
        "VER107",
        "the recorded verdict differs from the actual verdict",
        "The evidence file records a different verdict on the step than the gate returns now.",
        bad="recorded: 12 passed; now: 11 passed, 1 failed",
        good="recorded: accepted, 12 passed; now: accepted, 12 passed",
        remedy="do not trust the commit; redo the step.",
    ),
    define_strict_error(
        "VER108",
        "a commit that must not change code changes code",
        "Plan, design and note commits contain only records.",
        bad="design(loyalty-1) changes src/shop/points.py",
        good="design(loyalty-1) changes only files under .orch-state/",
        remedy="remove the change and make it in GREEN.",
    ),
    define_strict_error(
        "VER109",
        "the merge of a story's branch does not follow from its parents",
        "The commit claims to merge a story's branch into the PRD's branch. It must be git's own merge of the code, "
        "its records must follow from both parents, and every test that passed on either side must pass. This commit "
        "does not meet these conditions.",
        bad="join(loyalty-2) contains a line that neither parent has",
        good="join(loyalty-2) is the merge that git makes of its parents, and both suites pass",
        remedy="reset the branch to the commit's first parent; `prd2pr run` merges the story again.",
    ),
    define_strict_error(
        "VER110",
        "there was not enough time to judge the step",
        "A test run was stopped twice because it produced no output or took too long. The cause may be an "
        "overloaded machine or code that never ends. Everything that could be checked matches the record, so the "
        "step is neither proved nor refuted: the mark is NOT JUDGED, and the exit status is 2 if nothing is "
        "worse.",
        bad="the run was stopped after 61 s: it stalled",
        good="the run finished after 9 s",
        remedy="verify again when the machine is less busy; `test.stall_seconds` in .prd2pr.yml gives runs more time.",
    ),
    define_strict_error(
        "VER301",
        "the merged code is not what was proved",
        "After a squash, a rebase or a merge, the code in the base differs from git's own merge of the proved head: "
        "something was added, changed or left out while merging.",
        bad="the squash of pull request 5 changes src/shop/points.py, and no step of the branch did",
        good="the code of the squash is git's merge of the proved head with the base",
        remedy="compare the merge with the proved head that the report names, and revert what was added.",
    ),
    define_strict_error(
        "VER302",
        "a test fails on the merged tree",
        "The base had moved when the branch was merged. A test that passed on the base or on the branch fails on the "
        "merged tree, or is missing there.",
        bad="merged: tests/test_cart.py::test_total failed",
        good="every test that passed on either side passes on the merged tree",
        remedy="fix the merged code; before the next merge, update the branch so that its suite runs on the new base.",
    ),
    define_strict_error(
        "VER201",
        "an attestation does not match the branch",
        "The digests of an attestation are not those of a step on this branch: the branch was rewritten since, or "
        "the attestation was made for another branch.",
        bad="gitCommit 1f…, but no step of this branch is that commit",
        good="gitCommit, gitTree and the evidence's sha256 are those of loyalty/loyalty-2/3",
        remedy="create the attestations again with `prd2pr verify --attest`, or remove those of other branches.",
    ),
    define_strict_error(
        "VER202",
        "an attestation contradicts the evidence",
        "An attestation names results that differ from the evidence in the commit, or attests a step that is not "
        "proved.",
        bad="attestation: PASSED, test_redeem passed; evidence: test_redeem failed",
        good="attestation and evidence name the same tests with the same results",
        remedy="do not rely on the attestation; verify the commits instead.",
    ),
    define_strict_error(
        "VER203",
        "an attestation cannot be read",
        "It is neither an in-toto Statement with the test-result predicate nor a bundle that contains one.",
        bad='{"hello": "world"}',
        good='{"_type": "https://in-toto.io/Statement/v1", "subject": …, "predicateType": …, "predicate": …}',
        remedy="remove the file, or create it again with `prd2pr verify --attest`.",
    ),
    define_strict_error(
        "VER204",
        "the signature of an attestation is wrong",
        "The signature in a bundle was not made with the key of the bundle's own certificate: the bundle was changed.",
        bad="a bundle whose payload was edited after it was signed",
        good="a bundle as `gh attestation download` or the artifact `prd2pr-bundle` has it",
        remedy="download the bundle again, and check it with `gh attestation verify`.",
    ),
)
