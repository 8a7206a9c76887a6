"""Functions that compute something: flat layouts, src layouts, new modules, bug fixes."""

from __future__ import annotations

from honest_cycle import PLACE, Honest

SHOP = {
    "shop.py": """
        def total(prices):
            return sum(prices)
        """,
    "tests/test_shop.py": """
        from shop import total

        def test_total():
            assert total([1, 2]) == 3
        """,
}

LIBRARY = {
    "pyproject.toml": """
        [project]
        name = "library"
        version = "1.0"

        [tool.pytest.ini_options]
        testpaths = ["tests"]
        addopts = "-q --strict-markers --strict-config"
        """,
    "src/library/__init__.py": "",
    "src/library/books.py": """
        class Book:
            def __init__(self, title, pages):
                self.title = title
                self.pages = pages
        """,
    "tests/test_books.py": """
        from library.books import Book

        def test_title():
            assert Book("Emma", 474).title == "Emma"
        """,
}

CASES = [
    Honest(
        "a new function in an existing module",
        base=SHOP,
        red={
            "tests/test_discount.py": """
                from shop import discount

                def test_ten_percent_of_a_hundred():
                    assert discount(100, percent=10) == 90

                def test_nothing_off():
                    assert discount(80, percent=0) == 80
                """
        },
        green={
            "shop.py": """
                def total(prices):
                    return sum(prices)


                def discount(price, percent):
                    return price - price * percent // 100
                """
        },
    ),
    Honest(
        "a duration that has a limit",
        base=SHOP,
        red={
            "tests/test_discounts.py": """
                import time

                from shop import discounts

                def test_many_discounts_are_fast():
                    started = time.perf_counter()
                    found = discounts([100] * 2000, percent=10)
                    assert time.perf_counter() - started < 2
                    assert found == [90] * 2000
                """
        },
        green={
            "shop.py": """
                def total(prices):
                    return sum(prices)


                def discounts(prices, percent):
                    return [price - price * percent // 100 for price in prices]
                """
        },
    ),
    Honest(
        "a new top-level module in a flat layout",
        base=SHOP,
        red={
            "tests/test_basket.py": """
                import basket

                def test_an_empty_basket():
                    assert basket.Basket().count() == 0

                def test_adding():
                    filled = basket.Basket()
                    filled.add("pear", 3)
                    assert filled.count() == 3
                """
        },
        green={
            "basket.py": """
                class Basket:
                    def __init__(self):
                        self._items = {}

                    def add(self, name, amount):
                        self._items[name] = self._items.get(name, 0) + amount

                    def count(self):
                        return sum(self._items.values())
                """
        },
    ),
    Honest(
        "the first module of an empty project",
        base={"README.md": "# Slugs\n"},
        red={
            "tests/test_slug.py": """
                from slug import slugify

                def test_spaces_become_dashes():
                    assert slugify("Hello big World") == "hello-big-world"

                def test_signs_are_dropped():
                    assert slugify("What?!") == "what"
                """
        },
        green={
            "slug.py": """
                import re


                def slugify(title):
                    words = re.findall(r"[a-z0-9]+", title.lower())
                    return "-".join(words)
                """
        },
    ),
    Honest(
        "a new module in a src layout, as a story",
        base=LIBRARY,
        planned=("library.fines.fine",),
        criteria=("story-1.c1", "story-1.c2"),
        integrated=True,
        red={
            f"{PLACE}/test_story_1_fines.py": '''
                import pytest

                from library.fines import fine


                @pytest.mark.parametrize(("days", "cents"), [(1, 20), (7, 140)])
                def test_each_day_costs_twenty_cents(days, cents):
                    """story-1.c1"""
                    assert fine(days) == cents


                def test_a_fine_never_exceeds_ten_euros():
                    """story-1.c2"""
                    assert fine(365) == 1000
                '''
        },
        green={
            "src/library/fines.py": """
                CENTS_A_DAY = 20
                MOST = 1000


                def fine(days):
                    return min(days * CENTS_A_DAY, MOST)
                """
        },
    ),
    Honest(
        "a bug fix in existing code",
        base={
            "text.py": """
                def shorten(text, width):
                    return text[:width]
                """,
            "tests/test_text.py": """
                from text import shorten

                def test_short_text_stays():
                    assert shorten("abc", 5) == "abc"
                """,
        },
        red={
            "tests/test_text_bug.py": """
                from text import shorten

                def test_a_cut_text_ends_with_an_ellipsis():
                    assert shorten("abcdefgh", 5) == "abcd…"
                """
        },
        green={
            "text.py": """
                def shorten(text, width):
                    if len(text) <= width:
                        return text
                    return text[: width - 1] + "…"
                """
        },
    ),
    Honest(
        "a stub that raises NotImplementedError gets its body",
        base={
            "rates/__init__.py": "",
            "rates/convert.py": """
                def to_euro(amount, rate):
                    raise NotImplementedError
                """,
        },
        red={
            "tests/test_convert.py": """
                import pytest

                from rates.convert import to_euro

                def test_dollars_to_euros():
                    assert to_euro(110, rate=1.1) == pytest.approx(100)
                """
        },
        green={
            "rates/convert.py": """
                def to_euro(amount, rate):
                    return amount / rate
                """
        },
    ),
    Honest(
        "a new keyword parameter of an existing function",
        base=SHOP,
        red={
            "tests/test_tax.py": """
                from shop import total

                def test_total_with_tax():
                    assert total([100, 100], tax=19) == 238
                """
        },
        green={
            "shop.py": """
                def total(prices, tax=0):
                    net = sum(prices)
                    return net + net * tax // 100
                """
        },
    ),
    Honest(
        "wrong input is refused with a clear message",
        base=SHOP,
        red={
            "tests/test_negative.py": """
                import pytest

                from shop import total

                def test_a_negative_price_is_refused():
                    with pytest.raises(ValueError, match="negative price: -3"):
                        total([5, -3])
                """
        },
        green={
            "shop.py": """
                def total(prices):
                    for price in prices:
                        if price < 0:
                            raise ValueError(f"negative price: {price}")
                    return sum(prices)
                """
        },
    ),
    Honest(
        "an exception of one's own instead of a KeyError",
        base={
            "stock.py": """
                LEVELS = {"pear": 3}


                def level(name):
                    return LEVELS[name]
                """
        },
        red={
            "tests/test_stock.py": """
                import pytest

                import stock

                def test_an_unknown_item_has_its_own_error():
                    with pytest.raises(stock.UnknownItem) as caught:
                        stock.level("plum")
                    assert caught.value.name == "plum"
                    assert isinstance(caught.value, LookupError)
                """
        },
        green={
            "stock.py": """
                LEVELS = {"pear": 3}


                class UnknownItem(LookupError):
                    def __init__(self, name):
                        super().__init__(f"no such item: {name}")
                        self.name = name


                def level(name):
                    if name not in LEVELS:
                        raise UnknownItem(name)
                    return LEVELS[name]
                """
        },
    ),
    Honest(
        "an error that comes out of existing source",
        base={
            "average.py": """
                def mean(values):
                    return sum(values) / len(values)
                """
        },
        red={
            "tests/test_average.py": """
                from average import mean

                def test_the_mean_of_nothing_is_zero():
                    assert mean([]) == 0
                """
        },
        green={
            "average.py": """
                def mean(values):
                    return sum(values) / len(values) if values else 0
                """
        },
    ),
    Honest(
        "floats are compared with approx",
        base={"circle.py": "PI = 3.14159265358979\n"},
        red={
            "tests/test_circle.py": """
                from pytest import approx

                from circle import area, ring

                def test_area():
                    assert area(2) == approx(12.566370614)

                def test_ring():
                    assert ring(2, 1) == approx(9.42477796, rel=1e-6)
                """
        },
        green={
            "circle.py": """
                PI = 3.14159265358979


                def area(radius):
                    return PI * radius**2


                def ring(outer, inner):
                    return area(outer) - area(inner)
                """
        },
    ),
    Honest(
        "random, but seeded",
        base=SHOP,
        red={
            "tests/test_draw.py": """
                import random

                from shop import draw_winner

                def test_the_same_seed_draws_the_same_winner():
                    names = ["ada", "bob", "cyd"]
                    first = draw_winner(names, random.Random(7))
                    assert first == draw_winner(names, random.Random(7))
                    assert first in names

                def test_the_only_one_wins():
                    assert draw_winner(["ada"], random.Random(1)) == "ada"
                """
        },
        green={
            "shop.py": """
                def total(prices):
                    return sum(prices)


                def draw_winner(names, source):
                    return source.choice(names)
                """
        },
    ),
    Honest(
        "a failure that was there before stays baseline",
        base={
            **SHOP,
            "tests/test_legacy.py": """
                from shop import total

                def test_known_to_be_broken():
                    assert total(["1"]) == 1
                """,
        },
        red={
            "tests/test_count.py": """
                from shop import count

                def test_count():
                    assert count([5, 6]) == 2
                """
        },
        green={
            "shop.py": """
                def total(prices):
                    return sum(prices)


                def count(prices):
                    return len(prices)
                """
        },
    ),
    Honest(
        "recursion over nested data",
        base={"README.md": "nested\n"},
        planned=("nested.flatten",),
        criteria=("story-1.c1",),
        integrated=True,
        red={
            f"{PLACE}/test_story_1_flatten.py": """
                from nested import flatten


                def test_flatten_c1():
                    assert flatten([1, [2, [3, []]], 4]) == [1, 2, 3, 4]
                """
        },
        green={
            "nested.py": """
                def flatten(items):
                    flat = []
                    for item in items:
                        if isinstance(item, list):
                            flat.extend(flatten(item))
                        else:
                            flat.append(item)
                    return flat
                """
        },
    ),
]
