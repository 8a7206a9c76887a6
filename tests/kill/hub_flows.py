"""The three entry points as turns: what people do, after which the workflow runs until no event is left."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from github_world import GitHubWorld
from world import GREEN_ADD, GREEN_DOUBLE, PLAN, PRD, Blocks, say, script, write

ISSUE = "issue-1"
BODY = PRD.partition("# A small calculator\n")[2]
Deed = Callable[[GitHubWorld], object]


@dataclass(frozen=True)
class Flow:
    name: str
    config: str
    turns: tuple[Deed, ...]
    answers: Mapping[str, Blocks] = field(default_factory=script)
    prd: str = "calc"
    env: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def world(self, root: Path) -> Iterator[GitHubWorld]:
        files = {".prd2pr.yml": self.config}
        branch = f"prd2pr/{self.prd}"
        with GitHubWorld(root, answers_of_model=dict(self.answers), files=files, branch=branch) as world:
            yield world


def push_prd(world: GitHubWorld) -> None:
    world.push_prd("prds/calc.md", PRD)


def label_issue(world: GitHubWorld) -> None:
    issue = world.open_issue("A small calculator", BODY)
    world.pending.clear()  # opening it starts nothing
    world.label(issue.number, "prd2pr")


def says(text: str, by: str = "wendy") -> Deed:
    return lambda world: world.comment(world.pull().number, text, by=by)


def as_issue(answers: Mapping[str, Blocks]) -> dict[str, Blocks]:
    """The same answers for a PRD that is an issue."""
    text = json.dumps({key.replace("calc/", f"{ISSUE}/", 1): blocks for key, blocks in answers.items()})
    renamed: dict[str, Blocks] = json.loads(text.replace("calc-1", f"{ISSUE}-1").replace("calc-2", f"{ISSUE}-2"))
    return renamed


def one_story() -> dict[str, Blocks]:
    """Half of the work, for the short form."""
    plan = {**PLAN, "stories": [{**PLAN["stories"][0], "requirements": ["FR-1", "FR-2"]}]}  # type: ignore[index]
    return {**script(), "calc/plan/planner/1/1": say(plan)}


# With something to refactor in each story there are ten phases to request.
LONG_ADD = "def add(a, b):\n    total = a + b\n    return total\n"
LONG_DOUBLE = f"{GREEN_ADD}\n\ndef double(a):\n    result = a * 2\n    return result\n"
REFACTORED = {
    "calc-1/green/builder/1/1": write("src/calc/sums.py", LONG_ADD),
    "calc-1/refactor/refactorer/1/1": write("src/calc/sums.py", GREEN_ADD),
    "calc-2/green/builder/1/1": write("src/calc/sums.py", LONG_DOUBLE),
    "calc-2/refactor/refactorer/1/1": write("src/calc/sums.py", GREEN_DOUBLE),
}

BEGUN = says("/sprint plan\n\n/sprint start")  # approved, and no order to continue
NEXT = says("/tdd next")

PUSHED = Flow("a PRD is pushed", "approval: none\n", (push_prd,))
LABELLED = Flow("an issue is labelled", "approval: plan\n", (label_issue, says("/approve")), as_issue(script()), ISSUE)
ASKED = Flow("/tdd next, ten times", "approval: plan\n", (push_prd, BEGUN, *[NEXT] * 10), {**script(), **REFACTORED})
# Besides the three: commits that GitHub makes and signs, and runs whose deadline comes after each phase.
SIGNED = Flow("commits by the API", "approval: plan\ncommit: api\n", (push_prd, BEGUN, NEXT))
CUT_SHORT = Flow(
    "a minute for each run", "approval: none\n", (push_prd,), one_story(), env={"PRD2PR_MAX_MINUTES": "1"}
)  # fmt: skip
FLOWS = (PUSHED, LABELLED, ASKED, SIGNED, CUT_SHORT)

SHORT = Flow(
    "one story, from the label to the end", "approval: plan\n", (label_issue, says("/tdd help"), says("/approve")),
    as_issue(one_story()), ISSUE,
)  # fmt: skip
ONE_PHASE = Flow("one phase", "approval: plan\n", (push_prd, BEGUN, NEXT))
