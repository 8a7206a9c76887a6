"""A PRD of independent stories, each with its own module, built in parallel.

Only the model's answers are scripted, as in `world.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from world import Blocks, World, say, submit, use, write

NAMES = ("add", "cut", "double", "halve", "square", "cube", "negate", "twist")
SAYS = {
    "add": ("a + 1", 4, 5),
    "cut": ("a - 1", 4, 3),
    "double": ("a * 2", 4, 8),
    "halve": ("a // 2", 4, 2),
    "square": ("a * a", 3, 9),
    "cube": ("a * a * a", 2, 8),
    "negate": ("0 - a", 4, -4),
    "twist": ("10 - a", 4, 6),
}


def prd(count: int) -> str:
    lines = [f"- **FR-{n}** A number can be put through {name}." for n, name in enumerate(NAMES[:count], 1)]
    return "---\nid: calc\ntitle: Many sums\n---\n\n# Many sums\n\n" + "\n".join(lines) + "\n"


def story(n: int, name: str, needs: tuple[int, ...] = ()) -> dict[str, Any]:
    _, given, wanted = SAYS[name]
    return {
        "key": f"S{n}", "epic": "E1", "title": f"Put a number through {name}", "description": "As a user I do sums.",
        "kind": "feature", "criteria": [{"text": f"{given} gives {wanted}", "example": f"{name}({given}) == {wanted}"}],
        "depends_on": [f"S{each}" for each in needs], "complexity": 1, "estimate_minutes": 5,
        "requirements": [f"FR-{n}"], "module": f"calc.{name}_it", "interface": f"{name}(a)",
        "source_paths": [f"src/calc/{name}_it.py"], "test_paths": [],
    }  # fmt: skip


def plan(count: int, needs: dict[int, tuple[int, ...]]) -> dict[str, Any]:
    requirements = [f"FR-{n}" for n in range(1, count + 1)]
    return {
        "epics": [{"key": "E1", "title": "Sums", "description": "Sums", "requirements": requirements}],
        "stories": [story(n, name, needs.get(n, ())) for n, name in enumerate(NAMES[:count], 1)],
        "questions": [], "assumptions": [],
    }  # fmt: skip


def cases_of(n: int, name: str, module: str = "") -> str:
    _, given, wanted = SAYS[name]
    return (
        f"from calc.{module or f'{name}_it'} import {name}\n\n\n"
        f'def test_puts_through_{name}():\n    """calc-{n}.c1"""\n    assert {name}({given}) == {wanted}\n'
        f"    assert {name}({given} + 6) == {eval(SAYS[name][0], {'a': given + 6})}\n"
    )


def code_of(name: str) -> str:
    return f"def {name}(a):\n    return {SAYS[name][0]}\n"


def design_of(name: str, module: str = "") -> Blocks:
    module = module or f"{name}_it"
    symbols = [{"name": f"calc.{module}.{name}", "signature": "(a)"}]
    return [
        submit(
            summary="A function.", symbols=symbols, source_paths=[f"src/calc/{module}.py"], test_paths=[], decisions=[]
        )
    ]


def answers(count: int, needs: dict[int, tuple[int, ...]] | None = None) -> dict[str, Blocks]:
    made: dict[str, Blocks] = {"calc/plan/planner/1/1": say(plan(count, needs or {}))}
    for n, name in enumerate(NAMES[:count], 1):
        made |= {
            f"calc-{n}/design/architect/1/1": design_of(name),
            f"calc-{n}/red/tester/1/1": write(f"tests/tdd/calc-{n}/test_calc_{n}_{name}.py", cases_of(n, name)),
            f"calc-{n}/green/builder/1/1": write(f"src/calc/{name}_it.py", code_of(name)),
            f"calc-{n}/refactor/refactorer/1/1": [submit("nothing_to_do")],
        }
    return made


def start_parallel_world(
    root: Path, count: int = 3, needs: dict[int, tuple[int, ...]] | None = None, **more: Any
) -> World:
    world = World(root, answers=answers(count, needs), **more)
    return world.start({"prds/calc.md": prd(count)})


STEP = "STEP = 1\n\n\ndef negate(number):\n    return -number\n"
BY_STEP = "from calc.signs import STEP\n\n\ndef {name}(a):\n    return a + STEP\n"


def breaking_answers() -> dict[str, Blocks]:
    """With STEP in `calc/signs.py`: both stories are right and their merge is clean, but calc-2 changes the number that
    calc-1 depends on."""
    return {
        "calc-1/green/builder/1/1": write("src/calc/add_it.py", BY_STEP.format(name="add")),
        "calc-2/green/builder/1/1": [
            use("write_file", path="src/calc/cut_it.py", content=BY_STEP.format(name="cut")),
            *write("src/calc/signs.py", STEP.replace("= 1", "= -1")),
        ],
        "calc-2/green/builder/2/1": write("src/calc/cut_it.py", code_of("cut")),
    }


def conflicting_answers(n: int, name: str) -> dict[str, Blocks]:
    """The story's code is written to the same place in `calc/signs.py`, although its plan does not say so."""
    path, start = "src/calc/signs.py", "def negate(number):"
    edit = use("edit_file", path=path, old=start, new=f"{code_of(name)}\n\n{start}")
    test = f"tests/tdd/calc-{n}/test_calc_{n}_{name}.py"
    return {
        f"calc-{n}/design/architect/1/1": design_of(name, "signs"),
        f"calc-{n}/red/tester/1/1": write(test, cases_of(n, name, "signs")),
        f"calc-{n}/green/builder/1/1": [edit, submit()],
    }
