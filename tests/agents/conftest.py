from __future__ import annotations

from pathlib import Path

import pytest

from prd2pr.agents.task import AttemptContext, CodebaseContext, RoleTask
from prd2pr.domain.records import Criterion, Design, PlannedSymbol, Prd, Requirement, Story

SHOP = Path(__file__).parents[2] / "templates" / "demo" / "repo"


@pytest.fixture(scope="session")
def shop_files() -> dict[str, str]:
    """A small repository, as path → text."""
    files = (path for path in SHOP.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SHOP).as_posix(): path.read_text() for path in sorted(files)}


@pytest.fixture
def prd(shop_files: dict[str, str]) -> Prd:
    return Prd(
        id="loyalty",
        title="Loyalty points",
        path="prds/loyalty.md",
        summary="Customers earn points when they buy and spend them at the checkout.",
        requirements=(
            Requirement(id="FR-1", text="A purchase earns points: one point for each full euro spent."),
            Requirement(id="FR-1.1", text="Products marked as not earning points count nothing.", parent="FR-1"),
            Requirement(id="FR-2", text="A customer's account keeps a ledger of entries."),
            Requirement(id="NFR-1", text="Only whole numbers: no float takes part.", kind="non_functional"),
            Requirement(
                id="AC-1", text="GIVEN goods for 41.50 EUR THEN it earns 41 points.", kind="acceptance", parent="FR-1"
            ),
        ),
        text=shop_files["prds/loyalty.md"],
    )


@pytest.fixture
def story() -> Story:
    return Story(
        id="loyalty-1",
        epic="loyalty",
        title="A purchase earns points",
        description="Count the points that a cart earns.",
        criteria=(
            Criterion(
                id="loyalty-1.c1",
                text="A cart earns one point for each full euro of its total.",
                example="goods for 41.50 EUR earn 41 points",
            ),
            Criterion(
                id="loyalty-1.c2",
                text="Products that do not earn points count nothing.",
                example="a gift card for 25 EUR and tea for 4.50 EUR earn 4 points",
            ),
            Criterion(id="loyalty-1.c3", text="An empty cart earns 0 points."),
        ),
        requirements=("FR-1", "FR-1.1"),
        module="shop.points",
        source_paths=("src/shop/points.py",),
    )


@pytest.fixture
def design() -> Design:
    return Design(
        summary="A new module shop.points with a function that adds up the earning lines of a cart, then floors.",
        symbols=(
            PlannedSymbol(name="shop.points"),
            PlannedSymbol(name="shop.points.points_for", signature="(cart: Cart) -> int"),
        ),
        source_paths=("src/shop/points.py",),
        test_paths=("tests/tdd/loyalty-1/test_loyalty_1_earning.py",),
        decisions=("Cents of several lines add up before they are floored.",),
    )


@pytest.fixture
def task(prd: Prd, story: Story, design: Design, shop_files: dict[str, str]) -> RoleTask:
    return RoleTask(
        prd=prd,
        model="scripted-1",
        story=story,
        design=design,
        codebase=CodebaseContext(files=shop_files),
        attempt=AttemptContext(limit=4),
    )


@pytest.fixture
def checkout(tmp_path: Path, shop_files: dict[str, str]) -> Path:
    for path, text in shop_files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path
