"""How people work: tests added to existing files, helpers, refactorings, moves."""

from __future__ import annotations

from honest_cycle import PLACE, Honest

POINTS = {
    "shop/__init__.py": "",
    "shop/points.py": """
        def earn(total):
            return total // 10
        """,
    "tests/test_points.py": """
        from shop.points import earn


        def test_earn():
            assert earn(100) == 10
        """,
}

CASES = [
    Honest(
        "tests added to an existing file, with the import at its top",
        base=POINTS,
        red={
            "tests/test_points.py": """
                from shop.points import earn, redeem


                def test_earn():
                    assert earn(100) == 10


                def test_redeem():
                    assert redeem(10) == 100
                """
        },
        green={
            "shop/points.py": """
                def earn(total):
                    return total // 10


                def redeem(points):
                    return points * 10
                """
        },
    ),
    Honest(
        "tests added to an existing file, through the module",
        base={
            **POINTS,
            "tests/test_points.py": """
                from shop import points


                def test_earn():
                    assert points.earn(100) == 10
                """,
        },
        red={
            "tests/test_points.py": """
                from shop import points


                def test_earn():
                    assert points.earn(100) == 10


                def test_redeem():
                    assert points.redeem(10) == 100
                """
        },
        green={
            "shop/points.py": """
                def earn(total):
                    return total // 10


                def redeem(points):
                    return points * 10
                """
        },
    ),
    Honest(
        "an existing test gets a stricter expectation",
        base=POINTS,
        red={
            "tests/test_points.py": """
                from shop.points import earn


                def test_earn():
                    assert earn(100) == 10
                    assert earn(95) == 10
                """
        },
        green={
            "shop/points.py": """
                def earn(total):
                    return round(total / 10 + 0.01)
                """
        },
    ),
    Honest(
        "a helper module under the tests",
        base={
            **POINTS,
            "tests/checks.py": """
                def assert_sorted(items):
                    assert list(items) == sorted(items), f"not sorted: {items}"
                """,
        },
        red={
            "tests/test_ranking.py": """
                from checks import assert_sorted

                from shop.ranking import ranking

                def test_the_ranking_is_sorted():
                    assert_sorted(ranking({"bob": 3, "ada": 9}))

                def test_everybody_is_in_it():
                    assert ranking({"bob": 3, "ada": 9}) == ["ada", "bob"]
                """
        },
        green={
            "shop/ranking.py": """
                def ranking(points):
                    return sorted(points)
                """
        },
    ),
    Honest(
        "classes of tests with fixtures of their own",
        base=POINTS,
        red={
            "tests/test_tiers.py": """
                import pytest

                from shop.tiers import Tiers


                class TestTiers:
                    @pytest.fixture
                    def tiers(self):
                        return Tiers({"silver": 100, "gold": 500})

                    def test_below_all_tiers(self, tiers):
                        assert tiers.of(99) is None

                    @pytest.mark.parametrize(("points", "tier"), [(100, "silver"), (499, "silver"), (500, "gold")])
                    def test_the_tier_of(self, tiers, points, tier):
                        assert tiers.of(points) == tier


                class TestSetUp:
                    def setup_method(self):
                        self.tiers = Tiers({})

                    def test_no_tiers_at_all(self):
                        assert self.tiers.of(1000) is None
                """
        },
        green={
            "shop/tiers.py": """
                class Tiers:
                    def __init__(self, limits):
                        self._limits = sorted(limits.items(), key=lambda item: item[1])

                    def of(self, points):
                        reached = [name for name, limit in self._limits if points >= limit]
                        return reached[-1] if reached else None
                """
        },
    ),
    Honest(
        "test packages with __init__ files",
        base={
            **POINTS,
            "tests/__init__.py": "",
            "tests/unit/__init__.py": "",
            "tests/unit/test_earn.py": """
                from shop.points import earn

                def test_nothing():
                    assert earn(0) == 0
                """,
        },
        red={
            "tests/unit/test_spend.py": """
                from shop.points import spend

                def test_spending():
                    assert spend(30, 10) == 20
                """
        },
        green={
            "shop/points.py": """
                def earn(total):
                    return total // 10


                def spend(points, amount):
                    return points - amount
                """
        },
    ),
    Honest(
        "a refactoring extracts a function",
        base=POINTS,
        planned=("shop.receipt.receipt",),
        criteria=("story-1.c1",),
        integrated=True,
        red={
            f"{PLACE}/test_story_1_receipt.py": '''
                from shop.receipt import receipt


                def test_lines_are_aligned():
                    """story-1.c1"""
                    assert receipt([("pear", 3), ("melon", 12)], 15) == "pear        3\\nmelon      12\\ntotal      15"
                '''
        },
        green={
            "shop/receipt.py": """
                def receipt(items, total):
                    lines = []
                    for name, price in items:
                        text = name
                        while len(text) + len(str(price)) < 13:
                            text = text + " "
                        lines.append(text + str(price))
                    text = "total"
                    while len(text) + len(str(total)) < 13:
                        text = text + " "
                    lines.append(text + str(total))
                    return "\\n".join(lines)
                """
        },
        refactor={
            "shop/receipt.py": """
                WIDTH = 13


                def receipt(items, total):
                    return "\\n".join(_line(name, amount) for name, amount in [*items, ("total", total)])


                def _line(name, amount):
                    return name + str(amount).rjust(WIDTH - len(name))
                """
        },
    ),
    Honest(
        "a refactoring leaves the methods of a value to a dataclass",
        red={
            "tests/test_line.py": """
                from shop.line import Line


                def test_equal():
                    assert Line("tea", 250) == Line("tea", 250)
                    assert Line("tea", 250) != Line("tea", 300)


                def test_shown():
                    assert repr(Line("tea", 250)) == "Line(name='tea', cents=250)"
                """
        },
        green={
            "shop/__init__.py": "",
            "shop/line.py": """
                class Line:
                    def __init__(self, name, cents):
                        self.name = name
                        self.cents = cents

                    def __eq__(self, other):
                        return isinstance(other, Line) and (self.name, self.cents) == (other.name, other.cents)

                    def __repr__(self):
                        return f"Line(name={self.name!r}, cents={self.cents!r})"
                """,
        },
        refactor={
            "shop/line.py": """
                from dataclasses import dataclass


                @dataclass
                class Line:
                    name: str
                    cents: int
                """
        },
    ),
    Honest(
        "a refactoring renames a private function and simplifies it",
        base=POINTS,
        red={
            "tests/test_spread.py": """
                from shop.spread import spread

                def test_even_parts():
                    assert spread(10, 3) == [4, 3, 3]

                def test_one_part():
                    assert spread(7, 1) == [7]
                """
        },
        green={
            "shop/spread.py": """
                def spread(amount, parts):
                    return _do_it(amount, parts)


                def _do_it(amount, parts):
                    result = []
                    for number in range(parts):
                        if number < amount % parts:
                            result.append(amount // parts + 1)
                        else:
                            result.append(amount // parts)
                    return result
                """
        },
        refactor={
            "shop/spread.py": """
                def spread(amount, parts):
                    return [_share(amount, parts, number) for number in range(parts)]


                def _share(amount, parts, number):
                    return amount // parts + (number < amount % parts)
                """
        },
    ),
    Honest(
        "a refactoring moves code into a module of its own",
        base=POINTS,
        red={
            "tests/test_bonus.py": """
                from shop.bonus import with_bonus

                def test_a_birthday_doubles():
                    assert with_bonus(100, birthday=True) == 20

                def test_other_days():
                    assert with_bonus(100, birthday=False) == 10
                """
        },
        green={
            "shop/bonus.py": """
                def with_bonus(total, birthday):
                    points = total // 10
                    if birthday:
                        points = points * 2
                    else:
                        points = points
                    return points
                """
        },
        refactor={
            "shop/bonus.py": """
                from shop.points import earn


                def with_bonus(total, birthday):
                    return earn(total) * (2 if birthday else 1)
                """
        },
    ),
    Honest(
        "a person moves tests to another directory",
        base=POINTS,
        red={
            "tests/new/test_level.py": """
                from shop.level import level

                def test_level():
                    assert [level(0), level(100), level(1000)] == ["start", "silver", "gold"]
                """
        },
        green={
            "shop/level.py": """
                STEPS = ((1000, "gold"), (100, "silver"), (0, "start"))


                def level(points):
                    return next(name for least, name in STEPS if points >= least)
                """
        },
        moved={
            "tests/new/test_level.py": None,
            "tests/unit/test_level.py": """
                from shop.level import level

                def test_level():
                    assert [level(0), level(100), level(1000)] == ["start", "silver", "gold"]
                """,
        },
    ),
    Honest(
        "a missing method, as a story with several files",
        base={
            "src/game/__init__.py": "",
            "src/game/board.py": """
                class Board:
                    def __init__(self, size):
                        self.cells = [None] * size
                """,
            "tests/unit/test_board.py": """
                from game.board import Board

                def test_size():
                    assert len(Board(9).cells) == 9
                """,
        },
        planned=("game.board.Board.play", "game.board.Board.winner"),
        criteria=("story-1.c1", "story-1.c2"),
        integrated=True,
        red={
            f"{PLACE}/__init__.py": "",
            f"{PLACE}/test_story_1_play.py": '''
                import pytest

                from game.board import Board


                def test_a_cell_is_taken():
                    """story-1.c1"""
                    board = Board(9)
                    board.play("x", 4)
                    assert board.cells[4] == "x"


                def test_a_taken_cell_stays():
                    """story-1.c1"""
                    board = Board(9)
                    board.play("x", 4)
                    with pytest.raises(ValueError):
                        board.play("o", 4)
                ''',
            f"{PLACE}/test_story_1_winner.py": '''
                from game.board import Board


                def test_three_in_a_row_win():
                    """story-1.c2"""
                    board = Board(9)
                    for cell in (0, 1, 2):
                        board.play("x", cell)
                    assert board.winner() == "x"


                def test_nobody_wins_at_the_start():
                    """story-1.c2"""
                    assert Board(9).winner() is None
                ''',
        },
        green={
            "src/game/board.py": """
                class Board:
                    def __init__(self, size):
                        self.cells = [None] * size

                    def play(self, player, cell):
                        if self.cells[cell] is not None:
                            raise ValueError(f"cell {cell} is taken")
                        self.cells[cell] = player

                    def winner(self):
                        for start in range(0, len(self.cells), 3):
                            row = self.cells[start : start + 3]
                            if row[0] is not None and len(set(row)) == 1:
                                return row[0]
                        return None
                """
        },
    ),
    Honest(
        "a refactoring takes a dead function away, with its tests",
        base={
            **POINTS,
            "shop/points.py": """
                FACTOR = 3


                def earn(total):
                    return total // 10


                def old_bonus(total):
                    return _tripled(total)


                def _tripled(total):
                    return total * FACTOR
                """,
            "tests/test_points.py": """
                import pytest

                from shop.points import earn, old_bonus


                def test_earn():
                    assert earn(100) == 10


                @pytest.mark.parametrize(("total", "bonus"), [(1, 3), (2, 6)])
                def test_old_bonus(total, bonus):
                    assert old_bonus(total) == bonus
                """,
        },
        red={
            "tests/test_spend.py": """
                from shop.spend import spend


                def test_spend():
                    assert spend(5, 2) == 3
                """
        },
        green={
            "shop/spend.py": """
                def spend(points, used):
                    return points - used
                """
        },
        refactor={
            "shop/points.py": """
                def earn(total):
                    return total // 10
                """,
            "tests/test_points.py": """
                from shop.points import earn


                def test_earn():
                    assert earn(100) == 10
                """,
        },
    ),
    Honest(
        "a refactoring takes a dead module away, with its test file",
        base={
            **POINTS,
            "shop/old.py": """
                class Ledger:
                    def total(self):
                        return 0
                """,
            "tests/test_old.py": """
                from shop.old import Ledger


                class TestLedger:
                    def test_total(self):
                        assert Ledger().total() == 0
                """,
        },
        red={
            "tests/test_spend.py": """
                from shop.spend import spend


                def test_spend():
                    assert spend(5, 2) == 3
                """
        },
        green={
            "shop/spend.py": """
                def spend(points, used):
                    return points - used
                """
        },
        refactor={"shop/old.py": None, "tests/test_old.py": None},
    ),
]
