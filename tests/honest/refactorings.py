"""Honest refactorings as data: a module before and after, and tests that cover only part of its behaviour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refactoring:
    name: str  # of the module
    before: str
    after: str
    tests: str


REFACTORINGS = [
    Refactoring(
        "padding",
        """
        def line(name, amount):
            text = name
            while len(text) + len(str(amount)) < 13:
                text = text + " "
            return text + str(amount)


        def bill(items, total):
            lines = []
            for name, price in items:
                lines.append(line(name, price))
            lines.append(line("total", total))
            return "\\n".join(lines)
        """,
        """
        WIDTH = 13


        def line(name, amount):
            return name + str(amount).rjust(WIDTH - len(name))


        def bill(items, total):
            return "\\n".join(line(name, amount) for name, amount in [*items, ("total", total)])
        """,
        """
        from padding import bill


        def test_bill():
            assert bill([("pear", 3)], 3) == "pear        3\\ntotal       3"
        """,
    ),
    Refactoring(
        "averages",
        """
        def average(values):
            if len(values) == 0:
                return 0
            total = 0
            for value in values:
                total = total + value
            return total / len(values)


        def spread(values):
            smallest = values[0]
            largest = values[0]
            for value in values:
                if value < smallest:
                    smallest = value
                if value > largest:
                    largest = value
            return largest - smallest
        """,
        """
        def average(values):
            return sum(values) / len(values) if values else 0


        def spread(values):
            return max(values) - min(values)
        """,
        """
        from averages import average, spread


        def test_average():
            assert average([1, 2, 3]) == 2
            assert average([0.5, 1.5]) == 1.0
            assert average([]) == 0


        def test_spread():
            assert spread([3, 1, 2]) == 2
        """,
    ),
    Refactoring(
        "baskets",
        """
        class Basket:
            def __init__(self, owner):
                self.owner = owner
                self._names = []
                self._counts = []

            def put(self, name, count=1):
                if count < 1:
                    raise ValueError("nothing to put")
                if name in self._names:
                    at = self._names.index(name)
                    self._counts[at] = self._counts[at] + count
                else:
                    self._names.append(name)
                    self._counts.append(count)

            def count(self, name):
                if name in self._names:
                    return self._counts[self._names.index(name)]
                return 0

            @property
            def size(self):
                total = 0
                for count in self._counts:
                    total = total + count
                return total


        def merged(one, other):
            basket = Basket(one.owner)
            for source in (one, other):
                for name, count in zip(source._names, source._counts):
                    basket.put(name, count)
            return basket
        """,
        """
        from collections import Counter


        class Basket:
            def __init__(self, owner):
                self.owner = owner
                self._counts = Counter()

            def put(self, name, count=1):
                if count < 1:
                    raise ValueError("there is nothing to put")
                self._counts[name] += count

            def count(self, name):
                return self._counts[name]

            @property
            def size(self):
                return sum(self._counts.values())


        def merged(one, other):
            basket = Basket(one.owner)
            basket._counts = one._counts + other._counts
            return basket
        """,
        """
        import pytest

        from baskets import Basket, merged


        @pytest.fixture
        def basket():
            basket = Basket("ada")
            basket.put("tea")
            basket.put("milk", 2)
            return basket


        def test_counts(basket):
            assert basket.count("milk") == 2
            assert basket.count("salt") == 0
            assert basket.size == 3


        def test_more(basket):
            basket.put("tea", 3)
            assert basket.count("tea") == 4
            with pytest.raises(ValueError):
                basket.put("tea", 0)


        def test_merged(basket):
            assert merged(basket, basket).size == 6
        """,
    ),
    Refactoring(
        "chances",
        """
        import random
        import time
        import uuid


        def drawn(names):
            number = random.randrange(len(names))
            name = names[number]
            return name


        def stamped(text):
            now = time.time()
            return str(now) + ": " + text


        def labelled(text):
            label = {}
            label["id"] = uuid.uuid4().hex
            label["text"] = text
            return label
        """,
        """
        import random
        import time
        import uuid


        def drawn(names):
            return random.choice(names)


        def stamped(text):
            return f"{time.time()}: {text}"


        def labelled(text):
            return {"id": uuid.uuid4().hex, "text": text}
        """,
        """
        from chances import drawn, labelled, stamped


        def test_chances():
            assert drawn(["a", "b"]) in "ab"
            assert stamped("x").endswith(": x")
            assert labelled("x")["text"] == "x"
        """,
    ),
    Refactoring(
        "files",
        """
        import json


        def saved(path, data):
            text = json.dumps(data, indent=1)
            with open(path, "w") as file:
                file.write(text)
            return len(text)


        def loaded(path):
            file = open(path)
            text = file.read()
            file.close()
            return json.loads(text)
        """,
        """
        import json
        from pathlib import Path


        def saved(path, data):
            return Path(path).write_text(json.dumps(data, indent=1))


        def loaded(path):
            return json.loads(Path(path).read_text())
        """,
        """
        from files import loaded, saved


        def test_files(tmp_path):
            assert saved(tmp_path / "a.json", {"a": 1}) == 11
            assert loaded(tmp_path / "a.json") == {"a": 1}
        """,
    ),
    Refactoring(
        "uniques",
        """
        def tags(texts):
            found = set()
            for text in texts:
                for word in text.split():
                    if word.startswith("#"):
                        found.add(word)
            result = []
            for word in found:
                result.append(word)
            return result


        def first(items, default=None):
            for item in items:
                return item
            return default
        """,
        """
        def tags(texts):
            return sorted({word for text in texts for word in text.split() if word.startswith("#")})


        def first(items, default=None):
            return next(iter(items), default)
        """,
        """
        from uniques import first, tags


        def test_tags():
            assert set(tags(["#a b #c", "#a #d"])) == {"#a", "#c", "#d"}


        def test_first():
            assert first([3, 4]) == 3
            assert first([], 9) == 9
        """,
    ),
    Refactoring(
        "grades",
        """
        def grade(points):
            if points >= 90:
                return "A"
            else:
                if points >= 80:
                    return "B"
                else:
                    if points >= 70:
                        return "C"
                    else:
                        return "F"


        def passed(points):
            if grade(points) == "F":
                return False
            else:
                return True
        """,
        """
        GRADES = ((90, "A"), (80, "B"), (70, "C"))


        def grade(points):
            return next((name for least, name in GRADES if points >= least), "F")


        def passed(points):
            return grade(points) != "F"
        """,
        """
        from grades import grade, passed


        def test_grades():
            assert [grade(each) for each in (95, 85, 75, 10)] == ["A", "B", "C", "F"]
            assert passed(75)
            assert not passed(10)
        """,
    ),
    Refactoring(
        "shipping",
        """
        from dataclasses import dataclass, replace
        from datetime import date, timedelta
        from decimal import Decimal


        @dataclass(frozen=True)
        class Parcel:
            weight: Decimal
            sent: date
            express: bool = False

            def cost(self):
                cost = Decimal("4.50")
                if self.weight > 5:
                    cost = cost + (self.weight - 5) * Decimal("0.50")
                if self.express:
                    cost = cost * 2
                return cost

            def due(self):
                if self.express:
                    return self.sent + timedelta(days=1)
                return self.sent + timedelta(days=3)


        def hurried(parcel):
            return replace(parcel, express=True)
        """,
        """
        from dataclasses import dataclass, replace
        from datetime import date, timedelta
        from decimal import Decimal

        BASE, PER_KILO, FREE = Decimal("4.50"), Decimal("0.50"), 5


        @dataclass(frozen=True)
        class Parcel:
            weight: Decimal
            sent: date
            express: bool = False

            def cost(self):
                cost = BASE + max(self.weight - FREE, Decimal(0)) * PER_KILO
                return cost * 2 if self.express else cost

            def due(self):
                return self.sent + timedelta(days=1 if self.express else 3)


        def hurried(parcel):
            return replace(parcel, express=True)
        """,
        """
        from datetime import date
        from decimal import Decimal

        from shipping import Parcel, hurried


        def test_cost():
            parcel = Parcel(Decimal("7"), date(2024, 12, 30))
            assert parcel.cost() == Decimal("5.50")
            assert hurried(parcel).cost() == Decimal("11")
            assert parcel.due() == date(2025, 1, 2)
            assert hurried(parcel).due() == date(2024, 12, 31)


        def test_light():
            assert Parcel(Decimal("2"), date(2024, 1, 1)).cost() == Decimal("4.50")
        """,
    ),
    Refactoring(
        "streams",
        """
        import asyncio


        def chunks(items, size):
            result = []
            current = []
            for item in items:
                current.append(item)
                if len(current) == size:
                    result.append(current)
                    current = []
            if current:
                result.append(current)
            return result


        def countdown(start):
            number = start
            while number > 0:
                yield number
                number = number - 1


        async def doubled(value):
            await asyncio.sleep(0)
            result = value * 2
            return result


        def told(name):
            text = "hello " + name
            print(text)
        """,
        """
        import asyncio


        def chunks(items, size):
            return [items[at : at + size] for at in range(0, len(items), size)]


        def countdown(start):
            yield from range(start, 0, -1)


        async def doubled(value):
            await asyncio.sleep(0)
            return value * 2


        def told(name):
            print(f"hello {name}")
        """,
        """
        import asyncio

        from streams import chunks, countdown, doubled, told


        def test_streams(capsys):
            assert chunks([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]
            assert list(countdown(3)) == [3, 2, 1]
            assert asyncio.run(doubled(4)) == 8
            told("ada")
            assert capsys.readouterr().out == "hello ada\\n"
        """,
    ),
    Refactoring(
        "helpers_moved",
        """
        def slug(title):
            text = title.strip().lower()
            result = ""
            for sign in text:
                if sign.isalnum():
                    result = result + sign
                elif not result.endswith("-"):
                    result = result + "-"
            return result.strip("-")


        def initials(name):
            result = ""
            for part in name.split():
                result = result + part[0].upper()
            return result
        """,
        """
        import re


        def slug(title):
            return re.sub(r"[\\W_]+", "-", title.strip().lower()).strip("-")


        def initials(name):
            return "".join(part[0].upper() for part in name.split())
        """,
        """
        from helpers_moved import initials, slug


        def test_slug():
            assert slug(" Tea & Milk ") == "tea-milk"


        def test_initials():
            assert initials("ada king lovelace") == "AKL"
        """,
    ),
    Refactoring(
        "counting",
        """
        import functools

        _seen = {}


        def numbered(name):
            if name not in _seen:
                _seen[name] = len(_seen) + 1
            return _seen[name]


        @functools.lru_cache(maxsize=None)
        def fibonacci(n):
            if n == 0:
                return 0
            elif n == 1:
                return 1
            else:
                return fibonacci(n - 1) + fibonacci(n - 2)
        """,
        """
        import functools

        _seen = {}


        def numbered(name):
            return _seen.setdefault(name, len(_seen) + 1)


        @functools.lru_cache(maxsize=None)
        def fibonacci(n):
            return n if n in (0, 1) else fibonacci(n - 1) + fibonacci(n - 2)
        """,
        """
        from counting import fibonacci, numbered


        def test_numbered():
            assert numbered("a") == numbered("a")
            assert numbered("b") != numbered("a")


        def test_fibonacci():
            assert fibonacci(10) == 55
        """,
    ),
    Refactoring(
        "lookups",
        """
        def price(table, name):
            for key in table:
                if key == name:
                    return table[key]
            raise KeyError(name)


        def total(table, order):
            amount = 0
            for name, count in order.items():
                amount = amount + price(table, name) * count
            return amount
        """,
        """
        def price(table, name):
            return table[name]


        def total(table, order):
            return sum(price(table, name) * count for name, count in order.items())
        """,
        """
        import pytest

        from lookups import price, total


        def test_price():
            assert price({"tea": 3}, "tea") == 3
            with pytest.raises(KeyError):
                price({"tea": 3}, "milk")


        def test_total():
            assert total({"tea": 3, "milk": 1}, {"tea": 2, "milk": 1}) == 7
        """,
    ),
]
