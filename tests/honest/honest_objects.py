"""Classes in their various Python forms."""

from __future__ import annotations

from honest_cycle import PLACE, Honest

BANK = {
    "bank/__init__.py": "",
    "bank/account.py": """
        class Account:
            def __init__(self, balance=0):
                self.balance = balance

            def deposit(self, amount):
                self.balance += amount
        """,
    "tests/conftest.py": """
        import pytest

        from bank.account import Account


        @pytest.fixture
        def account():
            return Account(balance=100)
        """,
    "tests/test_account.py": """
        def test_deposit(account):
            account.deposit(50)
            assert account.balance == 150
        """,
}

CASES = [
    Honest(
        "a missing method on an existing class, through a fixture",
        base=BANK,
        red={
            "tests/test_withdraw.py": """
                import pytest


                def test_withdraw(account):
                    account.withdraw(30)
                    assert account.balance == 70


                def test_too_much_is_refused(account):
                    with pytest.raises(ValueError):
                        account.withdraw(101)
                    assert account.balance == 100
                """
        },
        green={
            "bank/account.py": """
                class Account:
                    def __init__(self, balance=0):
                        self.balance = balance

                    def deposit(self, amount):
                        self.balance += amount

                    def withdraw(self, amount):
                        if amount > self.balance:
                            raise ValueError("not enough money")
                        self.balance -= amount
                """
        },
    ),
    Honest(
        "a story with fixtures of its own",
        base=BANK,
        planned=("bank.transfer.transfer",),
        criteria=("story-1.c1", "story-1.c2"),
        integrated=True,
        red={
            f"{PLACE}/conftest.py": """
                import pytest

                from bank.account import Account


                @pytest.fixture
                def savings():
                    return Account(balance=10)
                """,
            f"{PLACE}/test_story_1_transfer.py": '''
                import pytest

                from bank.transfer import transfer


                def test_money_moves(account, savings):
                    """story-1.c1"""
                    transfer(account, savings, 40)
                    assert (account.balance, savings.balance) == (60, 50)


                def test_nothing_moves_when_there_is_too_little(account, savings):
                    """story-1.c2"""
                    with pytest.raises(ValueError, match="too little"):
                        transfer(savings, account, 11)
                    assert (account.balance, savings.balance) == (100, 10)
                ''',
        },
        green={
            "bank/transfer.py": """
                def transfer(source, target, amount):
                    if amount > source.balance:
                        raise ValueError("too little on the account")
                    source.balance -= amount
                    target.deposit(amount)
                """
        },
    ),
    Honest(
        "fixtures that need what does not exist yet",
        base={"garage/__init__.py": ""},
        planned=("garage.cars.Car",),
        criteria=("story-1.c1",),
        integrated=True,
        red={
            f"{PLACE}/conftest.py": """
                import pytest


                @pytest.fixture
                def car():
                    from garage.cars import Car

                    return Car("red")
                """,
            f"{PLACE}/test_story_1_car.py": '''
                def test_a_car_can_be_painted(car):
                    """story-1.c1"""
                    car.paint("blue")
                    assert car.colour == "blue"
                ''',
        },
        green={
            "garage/cars.py": """
                class Car:
                    def __init__(self, colour):
                        self.colour = colour

                    def paint(self, colour):
                        self.colour = colour
                """
        },
    ),
    Honest(
        "unittest classes with setUp",
        base={"queue_box.py": "class Box:\n    pass\n"},
        red={
            "tests/test_box.py": """
                import unittest

                from queue_box import Box


                class BoxTest(unittest.TestCase):
                    def setUp(self):
                        self.box = Box()

                    def test_first_in_first_out(self):
                        self.box.put("a")
                        self.box.put("b")
                        self.assertEqual(self.box.take(), "a")

                    def test_an_empty_box_gives_none(self):
                        self.assertIsNone(self.box.take())

                    def test_sizes(self):
                        for size in (0, 1, 3):
                            with self.subTest(size=size):
                                box = Box()
                                for item in range(size):
                                    box.put(item)
                                self.assertEqual(len(box), size)
                """
        },
        green={
            "queue_box.py": """
                class Box:
                    def __init__(self):
                        self._items = []

                    def put(self, item):
                        self._items.append(item)

                    def take(self):
                        return self._items.pop(0) if self._items else None

                    def __len__(self):
                        return len(self._items)
                """
        },
    ),
    Honest(
        "an __eq__ that compares",
        base={
            "money.py": """
                class Money:
                    def __init__(self, cents, currency):
                        self.cents = cents
                        self.currency = currency
                """
        },
        red={
            "tests/test_money.py": """
                from money import Money

                def test_equal_amounts_are_equal():
                    assert Money(5, "EUR") == Money(5, "EUR")

                def test_one_stands_for_the_other_in_a_set():
                    assert len({Money(5, "EUR"), Money(5, "EUR"), Money(6, "EUR")}) == 2
                """
        },
        green={
            "money.py": """
                class Money:
                    def __init__(self, cents, currency):
                        self.cents = cents
                        self.currency = currency

                    def __eq__(self, other):
                        if not isinstance(other, Money):
                            return NotImplemented
                        return (self.cents, self.currency) == (other.cents, other.currency)

                    def __hash__(self):
                        return hash((self.cents, self.currency))
                """
        },
    ),
    Honest(
        "inspect in source, for signatures",
        base={"wiring/__init__.py": ""},
        red={
            "tests/test_wiring.py": """
                from wiring.inject import build

                class Clock:
                    pass

                class Timer:
                    def __init__(self, clock):
                        self.clock = clock

                def test_arguments_are_found_by_name():
                    clock = Clock()
                    assert build(Timer, {"clock": clock, "other": 1}).clock is clock
                """
        },
        green={
            "wiring/inject.py": """
                import inspect


                def build(kind, parts):
                    wanted = inspect.signature(kind).parameters
                    return kind(**{name: parts[name] for name in wanted})
                """
        },
    ),
    Honest(
        "a dataclass",
        base={"geo/__init__.py": ""},
        red={
            "tests/test_point.py": """
                import dataclasses

                import pytest

                from geo.point import Point

                def test_moving_gives_a_new_point():
                    start = Point(1, 2)
                    assert start.moved(3, -2) == Point(4, 0)
                    assert start == Point(1, 2)

                def test_points_are_frozen():
                    with pytest.raises(dataclasses.FrozenInstanceError):
                        Point(1, 2).x = 5
                """
        },
        green={
            "geo/point.py": """
                from dataclasses import dataclass


                @dataclass(frozen=True)
                class Point:
                    x: int
                    y: int

                    def moved(self, dx, dy):
                        return Point(self.x + dx, self.y + dy)
                """
        },
    ),
    Honest(
        "an enum with behaviour",
        base={"traffic.py": "STATES = 3\n"},
        red={
            "tests/test_light.py": """
                import pytest

                from traffic import Light

                @pytest.mark.parametrize(
                    ("now", "then"), [("RED", "GREEN"), ("GREEN", "AMBER"), ("AMBER", "RED")]
                )
                def test_the_order_of_lights(now, then):
                    assert Light[now].following() is Light[then]
                """
        },
        green={
            "traffic.py": """
                from enum import Enum

                STATES = 3


                class Light(Enum):
                    RED = 0
                    GREEN = 1
                    AMBER = 2

                    def following(self):
                        return Light((self.value + 1) % STATES)
                """
        },
    ),
    Honest(
        "a protocol and what fulfils it",
        base={"shapes/__init__.py": ""},
        red={
            "tests/test_shapes.py": """
                from shapes.area import HasArea, largest

                class Square:
                    def __init__(self, side):
                        self.side = side

                    def area(self):
                        return self.side**2

                def test_the_largest_shape_wins():
                    small, big = Square(1), Square(3)
                    assert largest([small, big]) is big

                def test_anything_with_an_area_fits():
                    assert isinstance(Square(1), HasArea)
                """
        },
        green={
            "shapes/area.py": """
                from typing import Protocol, runtime_checkable


                @runtime_checkable
                class HasArea(Protocol):
                    def area(self) -> float: ...


                def largest(shapes):
                    return max(shapes, key=lambda shape: shape.area())
                """
        },
    ),
    Honest(
        "a property",
        base={
            "person.py": """
                class Person:
                    def __init__(self, first, last):
                        self.first = first
                        self.last = last
                """
        },
        red={
            "tests/test_person.py": """
                from person import Person

                def test_full_name():
                    assert Person("Ada", "Byron").full_name == "Ada Byron"

                def test_renaming_splits_the_name():
                    ada = Person("Ada", "Byron")
                    ada.full_name = "Ada Lovelace"
                    assert ada.last == "Lovelace"
                """
        },
        green={
            "person.py": """
                class Person:
                    def __init__(self, first, last):
                        self.first = first
                        self.last = last

                    @property
                    def full_name(self):
                        return f"{self.first} {self.last}"

                    @full_name.setter
                    def full_name(self, name):
                        self.first, self.last = name.split(" ", 1)
                """
        },
    ),
    Honest(
        "a hierarchy of exceptions",
        base={"orders/__init__.py": ""},
        red={
            "tests/test_order_errors.py": """
                import pytest

                from orders.errors import OrderError, OutOfStock, UnknownCustomer

                @pytest.mark.parametrize("kind", [OutOfStock, UnknownCustomer])
                def test_each_is_an_order_error(kind):
                    assert issubclass(kind, OrderError)

                def test_out_of_stock_says_how_many_are_left():
                    assert str(OutOfStock("pear", left=2)) == "only 2 of pear left"
                """
        },
        green={
            "orders/errors.py": """
                class OrderError(Exception):
                    pass


                class OutOfStock(OrderError):
                    def __init__(self, name, left):
                        super().__init__(f"only {left} of {name} left")


                class UnknownCustomer(OrderError):
                    pass
                """
        },
    ),
    Honest(
        "a generator",
        base={"pages.py": "SIZE = 2\n"},
        red={
            "tests/test_pages.py": """
                from pages import in_pages

                def test_pages_of_two():
                    assert list(in_pages([1, 2, 3, 4, 5])) == [[1, 2], [3, 4], [5]]

                def test_pages_come_one_by_one():
                    pages = in_pages(iter(range(10)))
                    assert next(pages) == [0, 1]
                """
        },
        green={
            "pages.py": """
                SIZE = 2


                def in_pages(items):
                    page = []
                    for item in items:
                        page.append(item)
                        if len(page) == SIZE:
                            yield page
                            page = []
                    if page:
                        yield page
                """
        },
    ),
    Honest(
        "a context manager",
        base={"journal.py": "LINES = []\n"},
        red={
            "tests/test_journal.py": """
                import pytest

                from journal import Journal

                def test_what_is_written_inside_is_kept():
                    journal = Journal()
                    with journal.entry() as entry:
                        entry.append("a")
                    assert journal.lines == ["a"]

                def test_a_failed_entry_is_dropped():
                    journal = Journal()
                    with pytest.raises(RuntimeError):
                        with journal.entry() as entry:
                            entry.append("a")
                            raise RuntimeError("no")
                    assert journal.lines == []
                """
        },
        green={
            "journal.py": """
                from contextlib import contextmanager

                LINES = []


                class Journal:
                    def __init__(self):
                        self.lines = []

                    @contextmanager
                    def entry(self):
                        new = []
                        yield new
                        self.lines.extend(new)
                """
        },
    ),
    Honest(
        "a decorator",
        base={"tools/__init__.py": ""},
        red={
            "tests/test_retry.py": """
                import pytest

                from tools.retry import retry

                def test_it_tries_again():
                    calls = []

                    @retry(times=3)
                    def shaky():
                        calls.append(1)
                        if len(calls) < 3:
                            raise OSError("busy")
                        return "done"

                    assert shaky() == "done"
                    assert len(calls) == 3

                def test_it_gives_up():
                    @retry(times=2)
                    def broken():
                        raise OSError("gone")

                    with pytest.raises(OSError, match="gone"):
                        broken()

                def test_the_name_stays():
                    @retry(times=2)
                    def named():
                        return 1

                    assert named.__name__ == "named"
                """
        },
        green={
            "tools/retry.py": """
                import functools


                def retry(times):
                    def wrap(function):
                        @functools.wraps(function)
                        def again(*args, **kwargs):
                            for attempt in range(times):
                                try:
                                    return function(*args, **kwargs)
                                except OSError:
                                    if attempt == times - 1:
                                        raise

                        return again

                    return wrap
                """
        },
    ),
    Honest(
        "a cache that asks its source once",
        base={"weather/__init__.py": ""},
        red={
            "tests/test_weather_cache.py": """
                from weather.cache import Cached

                class Source:
                    def __init__(self):
                        self.asked = []

                    def fetch(self, city):
                        self.asked.append(city)
                        return len(city)

                def test_a_city_is_asked_for_once():
                    source = Source()
                    cached = Cached(source)
                    assert [cached.fetch("Rome"), cached.fetch("Rome"), cached.fetch("Oslo!")] == [4, 4, 5]
                    assert source.asked == ["Rome", "Oslo!"]
                """
        },
        green={
            "weather/cache.py": """
                class Cached:
                    def __init__(self, source):
                        self._source = source
                        self._known = {}

                    def fetch(self, city):
                        if city not in self._known:
                            self._known[city] = self._source.fetch(city)
                        return self._known[city]
                """
        },
    ),
]
