"""Three PRDs built in the profiles `full` and `quick`, replayed; `make full-profile` prints the cost of each.

The recordings were made with `--record` and the real anthropic client, against a loopback server with the Messages
API. Their answers were written by hand, as the files state; they do not come from a provider's model.
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
SHOP = HERE.parent / "templates" / "demo" / "repo"
COUNTS = ("input_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True)
class Recorded:
    name: str  # name of the directory in tests/recordings
    prd: str  # file name
    kind: str
    requirements: int  # number, without acceptance criteria

    @property
    def directory(self) -> Path:
        return HERE / "recordings" / self.name

    @property
    def branch(self) -> str:
        return f"prd2pr/{Path(self.prd).stem}"


READING_LIST = Recorded("reading_list", "reading-list.md", "tidy Markdown", 5)
STOCK = Recorded("stock", "stock.md", "free prose", 12)
WHOLESALE = Recorded("wholesale", "wholesale.yaml", "YAML", 30)
RECORDED = (READING_LIST, STOCK, WHOLESALE)


def start(recorded: Recorded, root: Path, profile: str) -> World:
    """The repository that the recording starts from: its own or the demo's."""
    world = World(root, branch=recorded.branch)
    own = recorded.directory / "repository.txt"
    if own.exists():
        files = dict(part.split("\n", 1) for part in own.read_text(encoding="utf-8").split("---- ")[1:])
        files[".prd2pr.yml"] = files[".prd2pr.yml"].replace("profile: full", f"profile: {profile}")
        world.write(files)
    else:
        shutil.copytree(SHOP, world.repo, ignore=shutil.ignore_patterns("prds", "__pycache__"))
        text = (HERE / "planning" / "prds" / recorded.prd).read_text(encoding="utf-8")
        world.write({".prd2pr.yml": f"profile: {profile}\n", f"prds/{recorded.prd}": text})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    return world


def replayed(recorded: Recorded, root: Path, profile: str) -> tuple[World, Any]:
    """The complete run and its JSON result."""
    world = start(recorded, root, profile)
    model = f"replay:{recorded.directory / f'{profile}.jsonl'}"
    done = world.program("run", f"prds/{recorded.prd}", "--model", model, "--json")
    assert done.status == 0, done.out + done.err
    return world, done.json


def all_tokens(done: Any) -> int:
    return sum(done["spend"][name] for name in COUNTS)


def cost_table(recorded: Recorded, profile: str, done: Any) -> str:
    rows = [f"{recorded.prd} ({recorded.kind}, {recorded.requirements} requirements), {profile}, replayed:"]
    for role, cost in (*done["roles"].items(), ("all", done["spend"])):
        read, cached, said = (format_tokens(cost[name]) for name in COUNTS)
        rows.append(f"  {role:<20} {cost['calls']:>3} calls  {read:>6} read  {cached:>6} cached  {said:>6} written")
    return "\n".join(rows)


def ratio(quick: Any, full: Any) -> str:
    calls = f"{quick['spend']['calls']} of {full['spend']['calls']} calls"
    return f"  quick ÷ full: {calls}, {all_tokens(quick)} of {all_tokens(full)} tokens"


def main() -> int:
    for recorded in RECORDED:
        done = {}
        for profile in ("full", "quick"):
            with tempfile.TemporaryDirectory() as root:
                _, done[profile] = replayed(recorded, Path(root), profile)
            sys.stdout.write(cost_table(recorded, profile, done[profile]) + "\n")
        sys.stdout.write(ratio(done["quick"], done["full"]) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
