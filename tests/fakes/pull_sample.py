"""A branch in the middle of its work, as records: for everything that shows a pull request.

Story 1 is verified, 2 was refused once and is verified, 3 is documentation, 4 is RED with GREEN refused, 5 waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from hashlib import sha1
from typing import Any

from prd2pr.domain.evidence import (
    Comparison,
    Coverage,
    Evidence,
    Failure,
    FailureKind,
    Finding,
    LockedFile,
    Proof,
    RunSummary,
    TestResult,
    Verdict,
)
from prd2pr.domain.records import (
    Backlog,
    Criterion,
    Cycle,
    CycleState,
    Design,
    Phase,
    Prd,
    ProjectState,
    RefusedAttempt,
    Requirement,
    Spend,
    Status,
    Step,
    Story,
    TestFile,
)
from prd2pr.views.models import RefusedWriteView
from prd2pr.views.pull_request.page import (
    BranchChanges,
    ModelUsage,
    PlanningCost,
    PullRequestView,
    SpendLimits,
    assemble_pull_request_view,
)
from prd2pr.views.stories.facts import CommitFacts, PrdFacts

RED_PATCH = """\
diff --git a/.orch-state/prds/loyalty/status.json b/.orch-state/prds/loyalty/status.json
index 1111111..2222222 100644
--- a/.orch-state/prds/loyalty/status.json
+++ b/.orch-state/prds/loyalty/status.json
@@ -1 +1 @@
-{"state": "IDLE"}
+{"state": "SPRINT_ACTIVE"}
diff --git a/tests/tdd/loyalty-1/test_loyalty_1_earn.py b/tests/tdd/loyalty-1/test_loyalty_1_earn.py
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/tests/tdd/loyalty-1/test_loyalty_1_earn.py
@@ -0,0 +1,9 @@
+from shop.money import Money
+from shop.points import earned
+
+
+def test_full_euros_count():
+    \"\"\"loyalty-1.c1\"\"\"
+    assert earned(Money(41_50)) == 41
+
+
"""

GREEN_PATCH = """\
diff --git a/src/shop/checkout.py b/src/shop/checkout.py
index 4444444..5555555 100644
--- a/src/shop/checkout.py
+++ b/src/shop/checkout.py
@@ -12,7 +12,8 @@ def check_out(cart: Cart) -> Receipt:
     total = cart.total()
-    return Receipt(lines=cart.lines, total=total)
+    points = earned(total)
+    return Receipt(lines=cart.lines, total=total, points=points)
diff --git a/src/shop/points.py b/src/shop/points.py
new file mode 100644
index 0000000..6666666
--- /dev/null
+++ b/src/shop/points.py
@@ -0,0 +1,5 @@
+from shop.money import Money
+
+
+def earned(total: Money) -> int:
+    return total.cents // 100
"""

EARNS = "GIVEN goods for 41.50 EUR WHEN it is checked out THEN it earns 41 points"
COUNTS_NOTHING = "GIVEN a gift card WHEN points are counted THEN it counts nothing"
TITLES = (
    "Earn points on a purchase",
    "Redeem points at the checkout",
    "Say in the README how points work",
    "Climb to a better tier",
    "Let points expire after a year",
)


def sha(*parts: object) -> str:
    return sha1("/".join(map(str, parts)).encode()).hexdigest()


def spend(tokens: int, usd: float | None = 0.01) -> Spend:
    return Spend(calls=1, input_tokens=tokens, cached_tokens=tokens // 2, output_tokens=tokens // 4, usd=usd)


def ids_of(story: str, count: int, place: str = "tests/tdd") -> tuple[str, ...]:
    snake = story.replace("-", "_")
    return tuple(f"{place}/{story}/test_{snake}_rules.py::test_case_{n}" for n in range(1, count + 1))


def run(ids: tuple[str, ...], outcome: str, others: int = 24, **changes: Any) -> RunSummary:
    missing = Failure(
        kind=FailureKind.MISSING_SYMBOL, stage="collect", exception="ImportError", missing="shop.points.earned"
    )
    story = tuple(
        TestResult(id=i, outcome=outcome, failure=None if outcome == "passed" else missing)
        for i in ids  # type: ignore[arg-type]
    )
    passed = others + (len(ids) if outcome == "passed" else 0)
    facts = {
        "collected": others + len(ids), "passed": passed, "failed": 0, "errors": others + len(ids) - passed,
        "skipped": 0, "seconds": 0.61, "exit_status": 1, "sandbox": "bubblewrap", "honest": True, "story": story,
    }  # fmt: skip
    return RunSummary(**{**facts, **changes})


def proof(phase: Phase, *, head: RunSummary | None, accepted: bool = True, **evidence: Any) -> Proof:
    findings = evidence.pop("findings", ())
    return Proof(
        evidence=Evidence(phase=phase, prd="loyalty", head_run=head, **evidence),
        verdict=Verdict(phase=phase, accepted=accepted, findings=findings),
    )


@dataclass
class Branch:
    """Records that a test may change before it builds the view."""

    prd: Prd
    backlog: Backlog
    status: Status
    cycles: dict[str, Cycle] = field(default_factory=dict)
    proofs: dict[tuple[str, int], Proof] = field(default_factory=dict)
    commits: dict[tuple[str, int], CommitFacts] = field(default_factory=dict)

    def pull_view(self, **options: Any) -> PullRequestView:
        settings: dict[str, Any] = {
            "limits": SpendLimits(usd=5.0),
            "model": "replay of Loyalty points",
            "base": "main",
            "planning": PlanningCost(spend(6000, 0.03), 9.0),
        }
        settings |= options

        def take(kind: type[Any]) -> dict[str, Any]:
            return {each.name: settings.pop(each.name) for each in fields(kind) if each.name in settings}

        facts = PrdFacts(self.prd, self.backlog, self.status, self.cycles, self.proofs, self.commits, **take(PrdFacts))
        changes, usage = BranchChanges(**take(BranchChanges)), ModelUsage(**take(ModelUsage))
        return assemble_pull_request_view(facts, changes, usage, **settings)

    def cross(self, story: str, phase: Phase, proven: Proof | None, **step: Any) -> None:
        cycle = self.cycles.get(story, Cycle(story=story))
        n = len(cycle.steps) + 1
        at = f"2026-11-16T09:{len(self.commits):02d}:00Z"
        made = Step(n=n, phase=phase, at=at, code_tree=sha("tree", story, n), evidence="sha256:0", seconds=11,
                    spend=spend(2400))  # fmt: skip
        self.cycles[story] = cycle.model_copy(update={"steps": (*cycle.steps, made.model_copy(update=step))})
        if proven:
            self.proofs[story, n] = proven

    def commit(self, story: str, subject: str, patch: str = "") -> None:
        n = len(self.cycles[story].steps) if story in self.cycles else 1
        at = f"2026-11-16T09:{len(self.commits):02d}:30Z"
        self.commits[story, n] = CommitFacts(sha(story, n), subject, at, patch)

    def update(self, story: str, **fields: Any) -> None:
        self.cycles[story] = self.cycles.get(story, Cycle(story=story)).model_copy(update=fields)


def plan() -> Branch:
    requirements = tuple(
        Requirement(id=f"FR-{n}", text=text)
        for n, text in enumerate(("A purchase earns points.", "Points can be redeemed at the checkout.",
                                  "The README says how points work.", "Customers have a tier.", "Points expire."), 1)
    )  # fmt: skip
    stories = tuple(
        Story(
            id=f"loyalty-{n}", epic="loyalty", title=title, kind="docs" if n == 3 else "feature",
            criteria=() if n == 3 else (
                Criterion(id=f"loyalty-{n}.c1", text=EARNS), Criterion(id=f"loyalty-{n}.c2", text=COUNTS_NOTHING),
            ),
            requirements=(f"FR-{n}",),
        )
        for n, title in enumerate(TITLES, 1)
    )  # fmt: skip
    return Branch(
        prd=Prd(id="loyalty", title="Loyalty points", path="prds/loyalty.md", requirements=requirements,
                summary="Customers who come back earn points, spend them at the checkout and climb to a better tier."),
        backlog=Backlog(
            stories=stories,
            questions=("Do refunds take points back?",),
            assumptions=("Points are whole numbers; one point is worth one cent.",),
        ),
        status=Status(state=ProjectState.SPRINT_ACTIVE),
    )  # fmt: skip


def to_green(branch: Branch, story: str, count: int, **green: Any) -> None:
    to_red(branch, story, count)
    ids = ids_of(story, count)
    locked = (LockedFile(path=ids[0].partition("::")[0], expected="b1", actual="b1"),)
    compared = Comparison(collected_before=24 + count, collected_after=24 + count)
    seen = proof(Phase.GREEN, head=run(ids, "passed"), base_run=run(ids, "error"), locked=locked, comparison=compared,
                 findings=green.pop("findings", ()))  # fmt: skip
    branch.cross(story, Phase.GREEN, seen, **green)
    branch.commit(story, f"green({story}): the tests pass", GREEN_PATCH)


def to_red(branch: Branch, story: str, count: int) -> None:
    ids = ids_of(story, count)
    branch.cross(story, Phase.DESIGN, None, seconds=4)
    branch.commit(story, f"design({story}): what will exist")
    coverage = (Coverage(criterion=f"{story}.c1", tests=ids[:1]), Coverage(criterion=f"{story}.c2", tests=ids[1:]))
    seen = proof(Phase.RED, head=run(ids, "error"), base_run=run((), "passed"),
                 repeat_run=run(ids, "error", others=0), coverage=coverage,
                 comparison=Comparison(collected_before=24, collected_after=24 + count))  # fmt: skip
    branch.cross(story, Phase.RED, seen)
    branch.commit(story, f"red({story}): the tests fail", RED_PATCH)
    file = TestFile(path=ids[0].partition("::")[0], blob="b1", status="committed")
    design = Design(summary=f"`shop.points` gets what {story} asks for.", decisions=("Whole numbers only.",))
    branch.update(story, tests=ids, test_files=(file,), design=design, state=CycleState.CODE_GREEN)


def to_integrated(branch: Branch, story: str, count: int) -> None:
    old, ids = ids_of(story, count), ids_of(story, count, "tests/unit")
    branch.cross(story, Phase.INTEGRATED, proof(Phase.INTEGRATED, head=run(ids, "passed")), seconds=3, spend=Spend())
    branch.commit(story, f"integrated({story}): the tests live in tests/unit/{story}")
    moved = TestFile(
        path=old[0].partition("::")[0], blob="b1", status="integrated", promoted_to=ids[0].partition("::")[0]
    )
    branch.update(story, tests=ids, test_files=(moved,), state=CycleState.COMMIT)


def sample() -> Branch:
    branch = plan()
    branch.commit("plan", "plan(loyalty): Loyalty points")
    to_green(branch, "loyalty-1", 3)
    branch.cross("loyalty-1", Phase.REFACTOR, None, note="nothing worth changing", seconds=6)
    to_integrated(branch, "loyalty-1", 3)
    literal = Finding(code="GRN402", severity="warning", message="two literals also occur in the tests",
                      path="src/shop/points.py", line=31)  # fmt: skip
    to_green(branch, "loyalty-2", 4, attempts=2, findings=(literal,))
    to_integrated(branch, "loyalty-2", 4)
    weakened = "`tests/tdd/loyalty-2/test_redeem.py` is not the file that RED committed: line 14 `== 90` became `>= 0`."
    branch.update(
        "loyalty-2", refused=(RefusedAttempt(phase=Phase.GREEN, attempt=1, codes=("GRN201",), summary=weakened),)
    )
    docs(branch)
    to_red(branch, "loyalty-4", 5)
    scope = "`src/shop/conftest.py` changes how tests run; GREEN may change source only."
    refused = RefusedAttempt(phase=Phase.GREEN, attempt=1, codes=("GRN101", "GRN301"), summary=scope)
    branch.update("loyalty-4", refused=(refused,))
    statuses = {"loyalty-4": "in_progress", "loyalty-5": "backlog"}
    stories = (s.model_copy(update={"status": statuses.get(s.id, "done")}) for s in branch.backlog.stories)
    branch.backlog = branch.backlog.model_copy(update={"stories": tuple(stories)})
    return branch


def docs(branch: Branch) -> None:
    branch.cross("loyalty-3", Phase.GREEN, proof(Phase.GREEN, head=None, note="kind docs: no tests asked for"))
    branch.commit("loyalty-3", "green(loyalty-3): say how points work")
    branch.cross(
        "loyalty-3", Phase.INTEGRATED, proof(Phase.INTEGRATED, head=None, note="kind docs: no tests asked for")
    )
    branch.commit("loyalty-3", "integrated(loyalty-3): documented")
    design = Design(summary="A section of the README explains earning and redeeming.")
    branch.update("loyalty-3", state=CycleState.COMMIT, design=design)


def refused_write() -> RefusedWriteView:
    return RefusedWriteView("loyalty-4", "green", "tests/tdd/loyalty-4/test_tier.py", "GRN201", "the tests are locked")


def many(count: int) -> Branch:
    """A branch with `count` verified stories: for limits of length and time."""
    branch = plan()
    model = branch.backlog.stories[0]
    stories = []
    for n in range(1, count + 1):
        key = f"loyalty-{n}"
        criteria = tuple(c.model_copy(update={"id": f"{key}.c{i}"}) for i, c in enumerate(model.criteria, 1))
        stories.append(
            model.model_copy(update={"id": key, "title": f"{model.title}, variant {n}", "criteria": criteria})
        )
        to_green(branch, key, 3)
        to_integrated(branch, key, 3)
    return replace(branch, backlog=Backlog(stories=tuple(stories)))
