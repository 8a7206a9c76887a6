"""A PRD of eight stories with tests and code: the same work for prd2pr and, in `make bench-peers`, its peers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fakes.prompt_cache import Counted, tokens_in

Json = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """One story: what the PRD asks for, and the tests and code that fulfil it."""

    number: int
    name: str  # of the module
    title: str
    requirement: str
    interface: str
    cases: str  # tests without imports and docstrings; `…` stands for the docstring
    code: str
    hidden: str

    @property
    def id(self) -> str:
        return f"garden-{self.number}"

    @property
    def source(self) -> str:
        return f"src/garden/{self.name}.py"

    @property
    def names(self) -> str:
        return ", ".join(sorted({line.partition("(")[0].split()[-1] for line in self.interface.splitlines()}))

    @property
    def imports(self) -> str:
        return f"from garden.{self.name} import {self.names}"

    @property
    def tests(self) -> str:
        body = self.cases.replace("…", f'"""{self.id}.c1: {self.title}"""')
        head = "import pytest\n\n" if "pytest." in body else ""
        days = "from datetime import date\n\n" if "date(" in body else ""
        plants = "from garden.plants import Plant\n" if "Plant(" in body and self.name != "plants" else ""
        return f"{days}{head}{plants}{self.imports}\n\n\n{body.strip()}\n"

    def test_path(self, directory: str) -> str:
        return f"{directory}/test_garden_{self.number}_{self.name}.py"


WORK = (
    Work(
        1, "plants", "Read a plant",
        "A plant is written `tomato; 12; sun`: name, liters of water per week, place. It is read as a `Plant`. White "
        "space around a field does not matter. Another number of fields, or liters that are no whole number, is a "
        "`ValueError`.",
        "Plant(name: str, liters: int, place: str)\nread_plant(line: str) -> Plant",
        '''
@pytest.mark.parametrize(
    ("line", "plant"),
    [("tomato; 12; sun", Plant("tomato", 12, "sun")), (" fern ;3;shade ", Plant("fern", 3, "shade"))],
)
def test_plant_is_read(line, plant):
    …
    assert read_plant(line) == plant
    assert (plant.name, plant.liters, plant.place) == tuple(vars(read_plant(line)).values())


@pytest.mark.parametrize("line", ["", "tomato; 12", "tomato; 12; sun; x", "tomato; many; sun", "tomato; 1.5; sun"])
def test_malformed_line_is_refused(line):
    …
    with pytest.raises(ValueError, match="not a plant"):
        read_plant(line)
''',
        '''"""What grows in the garden."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plant:
    name: str
    liters: int
    place: str


def read_plant(line: str) -> Plant:
    """Return the plant of a line such as `tomato; 12; sun`."""
    try:
        name, liters, place = (field.strip() for field in line.split(";"))
        return Plant(name, int(liters), place)
    except ValueError:
        raise ValueError(f"not a plant: {line}") from None
''',
        "assert read_plant('leek; 7; sun') == Plant('leek', 7, 'sun')",
    ),
    Work(
        2, "water", "Water for each place",
        "The liters per week are added up for each place; the places are sorted by name.",
        "water_by_place(plants) -> dict[str, int]",
        '''
def test_liters_are_added_up():
    …
    plants = [Plant("tomato", 12, "sun"), Plant("fern", 3, "shade"), Plant("bean", 5, "sun")]
    assert water_by_place(plants) == {"shade": 3, "sun": 17}
    assert list(water_by_place(plants)) == ["shade", "sun"]


def test_no_plants_need_no_water():
    …
    assert water_by_place([]) == {}
    assert water_by_place([Plant("rice", 40, "pond")]) == {"pond": 40}
''',
        '''"""How much water is needed where."""


def water_by_place(plants) -> dict[str, int]:
    """Return the liters per week of each place, sorted by place."""
    liters: dict[str, int] = {}
    for plant in plants:
        liters[plant.place] = liters.get(plant.place, 0) + plant.liters
    return dict(sorted(liters.items()))
''',
        "assert water_by_place([]) == {} and sum(water_by_place([]).values()) == 0",
    ),
    Work(
        3, "frost", "Nights with frost",
        "Of a list of temperatures, those nights are numbered (from 1) that are below 0 degrees, or at most 2 if the "
        "night before was below 0.",
        "frost_nights(temperatures) -> list[int]",
        '''
@pytest.mark.parametrize(
    ("temperatures", "nights"),
    [
        ([3, -1, 2, 2], [2, 3]),
        ([-1, 3, -2], [1, 3]),
        ([5, -1, -3, 1, 1], [2, 3, 4]),
        ([-1, 2.1, -0.5], [1, 3]),
        ([-1, 0, 2], [1, 2]),
        ([0, 2, -1], [3]),
    ],
)
def test_nights_with_frost(temperatures, nights):
    …
    assert frost_nights(temperatures) == nights
''',
        '''"""Frost."""

FREEZING = 0
COLD = 2


def frost_nights(temperatures) -> list[int]:
    """Return the numbers of the nights with frost, from 1."""
    before = [FREEZING, *temperatures]
    nights = enumerate(zip(before, temperatures, strict=False), 1)
    return [number for number, (last, now) in nights if now < FREEZING or (last < FREEZING and now <= COLD)]
''',
        "assert frost_nights([9, -4, 1]) == [2, 3]",
    ),
    Work(
        4, "sowing", "Days for sowing",
        "A plant is sown from `weeks` weeks before the last frost on, for 10 days: the first and the last day are "
        "returned. Less than 0 weeks is a `ValueError`.",
        "sowing_days(last_frost: date, weeks: int) -> tuple[date, date]",
        '''
@pytest.mark.parametrize(
    ("weeks", "first", "last"),
    [(6, date(2026, 4, 3), date(2026, 4, 12)), (0, date(2026, 5, 15), date(2026, 5, 24))],
)
def test_days_for_sowing(weeks, first, last):
    …
    assert sowing_days(date(2026, 5, 15), weeks) == (first, last)


def test_weeks_after_the_frost_are_refused():
    …
    with pytest.raises(ValueError, match="-1"):
        sowing_days(date(2026, 5, 15), -1)
''',
        '''"""When to sow."""

from datetime import date, timedelta

DAYS = 10


def sowing_days(last_frost: date, weeks: int) -> tuple[date, date]:
    """Return the first and the last day for sowing."""
    if weeks < 0:
        raise ValueError(f"weeks before the last frost cannot be {weeks}")
    first = last_frost - timedelta(weeks=weeks)
    return first, first + timedelta(days=DAYS - 1)
''',
        "assert sowing_days(__import__('datetime').date(2026, 5, 8), 1)[0].day == 1",
    ),
    Work(
        5, "rotation", "Rotation of the beds",
        "Four families move to the next bed each year: beans, cabbages, onions, roots. In 2026 bed 1 has beans, bed 2 "
        "cabbages and so on; in 2027 bed 2 has beans. Beds are 1 to 4, others a `ValueError`.",
        "family_in(bed: int, year: int) -> str",
        '''
@pytest.mark.parametrize(
    ("bed", "year", "family"),
    [(1, 2026, "beans"), (2, 2026, "cabbages"), (3, 2026, "onions"), (4, 2026, "roots"), (1, 2027, "roots"),
     (2, 2027, "beans"), (4, 2030, "roots"), (1, 2025, "cabbages")],
)
def test_family_of_a_bed(bed, year, family):
    …
    assert family_in(bed, year) == family


@pytest.mark.parametrize("bed", [0, 5])
def test_unknown_bed_is_refused(bed):
    …
    with pytest.raises(ValueError, match=str(bed)):
        family_in(bed, 2026)
''',
        '''"""Which family grows in which bed."""

FAMILIES = ("beans", "cabbages", "onions", "roots")
FIRST_YEAR = 2026


def family_in(bed: int, year: int) -> str:
    """Return the family of a bed in a year."""
    if not 1 <= bed <= len(FAMILIES):
        raise ValueError(f"there is no bed {bed}")
    return FAMILIES[(bed - 1 - (year - FIRST_YEAR)) % len(FAMILIES)]
''',
        "assert family_in(3, 2028) == 'beans'",
    ),
    Work(
        6, "rows", "Plants in a row",
        "A row of `length` cm has one plant at its beginning and one after each full gap of `gap` cm. A length below 0 "
        "or a gap below 1 is a `ValueError`.",
        "plants_in_row(length: int, gap: int) -> int",
        '''
@pytest.mark.parametrize(("length", "gap", "number"), [(100, 30, 4), (90, 30, 4), (89, 30, 3), (0, 5, 1), (3, 1, 4)])
def test_plants_in_a_row(length, gap, number):
    …
    assert plants_in_row(length, gap) == number


@pytest.mark.parametrize(("length", "gap"), [(-1, 30), (100, 0), (100, -5)])
def test_impossible_row_is_refused(length, gap):
    …
    with pytest.raises(ValueError, match="row"):
        plants_in_row(length, gap)
''',
        '''"""Rows of plants."""


def plants_in_row(length: int, gap: int) -> int:
    """Return how many plants a row has."""
    if length < 0 or gap < 1:
        raise ValueError(f"no row of {length} cm has gaps of {gap} cm")
    return length // gap + 1
''',
        "assert plants_in_row(250, 40) == 7",
    ),
    Work(
        7, "harvest", "Label of a harvest",
        "A harvest is labeled with its name and weight: `bean 850 g`, from 1000 g on in kilograms with two decimals: "
        "`tomato 1.25 kg`. 0 g or less is a `ValueError`.",
        "harvest_label(name: str, grams: int) -> str",
        '''
@pytest.mark.parametrize(
    ("grams", "label"), [(1250, "bean 1.25 kg"), (1000, "bean 1.00 kg"), (999, "bean 999 g"), (1, "bean 1 g")]
)
def test_label(grams, label):
    …
    assert harvest_label("bean", grams) == label


@pytest.mark.parametrize("grams", [0, -1])
def test_no_harvest_is_refused(grams):
    …
    with pytest.raises(ValueError, match="nothing"):
        harvest_label("bean", grams)
''',
        '''"""Harvests."""

KILOGRAM = 1000


def harvest_label(name: str, grams: int) -> str:
    """Return the label of a harvest, such as `tomato 1.25 kg`."""
    if grams <= 0:
        raise ValueError(f"nothing was harvested of {name}")
    weight = f"{grams} g" if grams < KILOGRAM else f"{grams / KILOGRAM:.2f} kg"
    return f"{name} {weight}"
''',
        "assert harvest_label('kale', 2500) == 'kale 2.50 kg'",
    ),
    Work(
        8, "report", "Weekly report",
        "The report has a line `PLACE: LITRES l` for each place, sorted by place, and ends with `total: LITRES l`.",
        "report(liters: dict[str, int]) -> str",
        '''
def test_report_ends_with_the_total():
    …
    assert report({"sun": 17, "shade": 3}) == "shade: 3 l\\nsun: 17 l\\ntotal: 20 l"
    assert report({}) == "total: 0 l"
''',
        '''"""The weekly report."""


def report(liters: dict[str, int]) -> str:
    """Return a line for each place, and the total."""
    lines = [f"{place}: {number} l" for place, number in sorted(liters.items())]
    return "\\n".join([*lines, f"total: {sum(liters.values())} l"])
''',
        "assert report({'pond': 40}).splitlines() == ['pond: 40 l', 'total: 40 l']",
    ),
)  # fmt: skip

PRD_PATH = "prds/garden.md"
PRD = """---
id: garden
title: A notebook for the garden
---

# A notebook for the garden

Our gardeners keep their notes on paper. A small library answers what they ask most often.

## Functional requirements

{requirements}

## Module structure

{modules}
""".format(
    requirements="\n".join(f"- **FR-{each.number}** {each.requirement}" for each in WORK),
    modules="\n".join(f"- `garden.{each.name}`: `{each.interface.replace(chr(10), '`, `')}`" for each in WORK),
)
FILES = {
    "pyproject.toml": '[project]\nname = "garden"\nversion = "1"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "README.md": "# garden\n\nA notebook for the garden. Run the tests with `python -m pytest`.\n",
    "src/garden/__init__.py": '"""A notebook for the garden."""\n',
    "src/garden/moon.py": '"""The moon."""\n\n\ndef is_waxing(day: int) -> bool:\n    return day % 28 < 14\n',
    "tests/test_moon.py": "from garden.moon import is_waxing\n\n\n"
    "def test_moon():\n    assert is_waxing(13) and not is_waxing(14)\n",
    PRD_PATH: PRD,
}


def plan() -> Json:
    stories = [
        {"key": f"s{n}", "title": each.title, "requirements": [f"FR-{n}"], "source_paths": [each.source]}
        for n, each in enumerate(WORK, 1)
    ]
    return {"stories": stories}


def hidden_examples() -> Json:
    imports = "\n".join(each.imports for each in WORK)
    return {"imports": imports, **{each.id: {"c1": [each.hidden]} for each in WORK}}


def deliver(stories: Iterable[Work] = WORK) -> list[Json]:
    """Return the tool calls of one answer that delivers these stories."""
    blocks: list[Json] = []
    for each in stories:
        files = {each.test_path(f"tests/tdd/{each.id}"): each.tests, each.source: each.code}
        blocks += [_use("write_file", path=path, content=text) for path, text in files.items()]
        blocks.append(_use("submit", story=each.id, status="done", explanation=f"{each.names} in {each.source}."))
    return [{**block, "id": f"use_{at}"} for at, block in enumerate(blocks)]


def answer(request: Json) -> list[Json]:
    """Return the answer to a request of prd2pr: the plan, the hidden examples, or the stories that it asks for."""
    asked = request["messages"][-1]["content"][-1]["text"]
    if "\nDeliver " in asked:
        named = asked.split("\nDeliver ")[1]
        return deliver(each for each in WORK if f"{each.id}," in named or f"{each.id} " in named)
    reply = plan() if "# Your step: the plan" in asked else hidden_examples()
    return [{"type": "text", "text": json.dumps(reply)}]


@dataclass
class Ledger:
    """What a run costs in units of an uncached input token: a cached one costs 0.1, one of the output 5."""

    replies: Callable[[Json], list[Json]]
    output: int = 0

    def reply(self, request: Json) -> list[Json]:
        blocks = self.replies(request)
        self.output += sum(tokens_in(each.get("text") or each["name"] + json.dumps(each["input"])) for each in blocks)
        return blocks

    def cost(self, counted: Sequence[Counted]) -> int:
        fresh, cached = sum(each.prompt - each.read for each in counted), sum(each.read for each in counted)
        return round(fresh + 0.1 * cached + 5 * self.output)


def _use(name: str, **arguments: object) -> Json:
    return {"type": "tool_use", "name": name, "input": arguments}
