"""Three PRDs planned in the profile `full`, replayed from recordings; `make four-passes` prints the cost of each role.

The recordings were made with the real client over HTTP. Their answers were written by hand to exactly these prompts, as
their names and the model name in them say; they do not come from a provider's model.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr.domain.wording import format_tokens
from world import World

HERE = Path(__file__).parent
SHOP = HERE.parents[1] / "templates" / "demo" / "repo"


@dataclass(frozen=True)
class Sample:
    name: str
    prd: str  # file name
    kind: str
    requirements: int  # number, without acceptance criteria

    @property
    def recording(self) -> Path:
        return HERE / "recordings" / f"{self.name}_by_hand.jsonl"


SAMPLES = (
    Sample("vouchers", "vouchers.md", "tidy Markdown with cycles and acceptance criteria", 7),
    Sample("stock", "stock.md", "free prose", 12),
    Sample("wholesale", "wholesale.yaml", "YAML", 30),
)


def world_of(sample: Sample, root: Path, config: str = "profile: full\n") -> World:
    world = World(root, branch=f"prd2pr/{sample.name}")
    shutil.copytree(SHOP, world.repo, ignore=shutil.ignore_patterns("prds", "__pycache__"))
    (world.repo / "prds").mkdir()
    shutil.copy(HERE / "prds" / sample.prd, world.repo / "prds" / sample.prd)
    world.write({".prd2pr.yml": config})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    return world


def replayed(world: World, sample: Sample, verb: str, *more: str) -> Any:
    return world.program(verb, f"prds/{sample.prd}", "--model", f"replay:{sample.recording}", *more)


def cost_table(sample: Sample, plan: dict[str, Any]) -> str:
    rows = [f"{sample.prd} ({sample.kind}, {sample.requirements} requirements), replayed from {sample.recording.name}:"]
    for role, cost in plan["roles"].items():
        counts = (cost["input_tokens"], cost["cached_tokens"], cost["output_tokens"])
        read, cached, said = map(format_tokens, counts)
        rows.append(f"  {role:<20} {cost['calls']:>3} calls  {read:>6} read  {cached:>6} cached  {said:>6} written")
    stories, criteria = len(plan["stories"]), sum(len(story["criteria"]) for story in plan["stories"])
    named = f", not covered and asked about: {', '.join(plan['not_covered'])}" if plan["not_covered"] else ""
    rows.append(f"  {stories} stories, {criteria} criteria, {len(plan['questions'])} questions{named}")
    return "\n".join(rows)


def main() -> int:
    for sample in SAMPLES:
        with tempfile.TemporaryDirectory() as root:
            told = replayed(world_of(sample, Path(root)), sample, "plan", "--json")
        if told.status:
            sys.stderr.write(told.err)
            return told.status
        sys.stdout.write(cost_table(sample, told.json) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
