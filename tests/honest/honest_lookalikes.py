"""Honest work that resembles something a gate refuses. Several behaviours share one cycle."""

from __future__ import annotations

from honest_cycle import PLACE, Honest

CASES = [
    Honest(
        "operators that an existing class learns",
        base={
            "release.py": """
                class Version:
                    def __init__(self, text):
                        self.parts = tuple(int(part) for part in text.split("."))
                """
        },
        red={
            "tests/test_version.py": """
                from release import Version

                def test_order():
                    assert Version("1.2") < Version("1.10")

                def test_length():
                    assert len(Version("1.2.3")) == 3

                def test_index():
                    assert Version("1.2.3")[1] == 2

                def test_iteration():
                    assert [part * 2 for part in Version("1.2")] == [2, 4]

                def test_membership():
                    assert 7 in Version("1.7")

                def test_call():
                    assert Version("1.2")(".") == "1.2"

                def test_text():
                    assert str(Version("1.2")) == "1.2"

                def test_addition():
                    bumped = Version("1.2") + 1
                    assert bumped.parts == (1, 3)

                def test_context():
                    with Version("1.2") as version:
                        assert version.parts == (1, 2)
                """
        },
        green={
            "release.py": """
                class Version:
                    def __init__(self, text):
                        self.parts = tuple(int(part) for part in text.split("."))

                    def __lt__(self, other):
                        return self.parts < other.parts

                    def __len__(self):
                        return len(self.parts)

                    def __getitem__(self, index):
                        return self.parts[index]

                    def __iter__(self):
                        return iter(self.parts)

                    def __contains__(self, part):
                        return part in self.parts

                    def __call__(self, separator):
                        return separator.join(str(part) for part in self.parts)

                    def __str__(self):
                        return self(".")

                    def __add__(self, step):
                        *head, last = self.parts
                        return Version(".".join(str(part) for part in [*head, last + step]))

                    def __enter__(self):
                        return self

                    def __exit__(self, *_):
                        return None
                """
        },
    ),
    Honest(
        "results of another shape than before",
        base={
            "parse.py": """
                def split_name(name):
                    return None


                def settings(text):
                    return {}


                def rows(text):
                    return []


                def as_json(value):
                    return ""
                """
        },
        red={
            "tests/test_parse.py": """
                import json

                from parse import as_json, rows, settings, split_name

                def test_two_names():
                    first, last = split_name("Ada Byron")
                    assert (first, last) == ("Ada", "Byron")

                def test_a_name_is_upper_case():
                    assert split_name("ada byron")[0].isupper() is False

                def test_settings():
                    found = settings("a=1")
                    assert found["a"] == "1"

                def test_third_row():
                    assert rows("x;y;z")[2] == "z"

                def test_json():
                    assert json.loads(as_json({"a": 1})) == {"a": 1}
                """
        },
        green={
            "parse.py": """
                import json


                def split_name(name):
                    first, last = name.split(" ", 1)
                    return first, last


                def settings(text):
                    return dict(line.split("=", 1) for line in text.splitlines())


                def rows(text):
                    return text.split(";")


                def as_json(value):
                    return json.dumps(value)
                """
        },
    ),
    Honest(
        "arguments that are changed, constants, and what is printed",
        base={"desk/__init__.py": ""},
        red={
            "tests/test_desk.py": """
                from decimal import Decimal

                from desk.sorting import LIMITS, Label, in_place, move_all

                def test_sorting_in_place():
                    items = [3, 1, 2]
                    in_place(items)
                    assert items == [1, 2, 3]

                def test_everything_moves():
                    old, new = ["a", "b"], []
                    assert move_all(old, new) is None
                    assert not old
                    assert new == ["a", "b"]

                def test_the_limit_is_a_decimal():
                    assert LIMITS["weight"] == Decimal("2.50")

                def test_how_it_is_shown():
                    assert repr(Label("x")) == "Label('x')"
                    assert f"{Label('x'):>3}" == "  x"

                def test_a_flag():
                    label = Label("x")
                    assert not label.sticky
                    label.stick()
                    assert label.sticky
                """
        },
        green={
            "desk/sorting.py": """
                from decimal import Decimal

                LIMITS = {"weight": Decimal("2.50")}


                def in_place(items):
                    items.sort()


                def move_all(source, target):
                    target.extend(source)
                    source.clear()


                class Label:
                    def __init__(self, text):
                        self.text = text
                        self.sticky = False

                    def stick(self):
                        self.sticky = True

                    def __repr__(self):
                        return f"Label({self.text!r})"

                    def __format__(self, form):
                        return format(self.text, form)
                """
        },
    ),
    Honest(
        "collaborators are patched where the subject finds them",
        base={
            "mail/__init__.py": "",
            "mail/clock.py": "import time\n\n\ndef now():\n    return time.time()\n",
            "mail/smtp.py": "def send(to, text):\n    raise OSError('no network')\n",
        },
        red={
            "tests/test_reminder.py": """
                from unittest import mock

                from mail import clock, smtp
                from mail.reminder import remind

                def test_a_reminder_is_sent_once_a_day(monkeypatch):
                    sent = []
                    monkeypatch.setattr(smtp, "send", lambda to, text: sent.append((to, text)))
                    with mock.patch.object(clock, "now", side_effect=[0, 100, 90_000]):
                        results = [remind("ada"), remind("ada"), remind("ada")]
                    assert results == [True, False, True]
                    assert sent == [("ada", "Do not forget!")] * 2

                @mock.patch("mail.smtp.send")
                def test_somebody_else_has_a_day_of_their_own(send):
                    assert remind("bob") is True
                    send.assert_called_once()
                """
        },
        green={
            "mail/reminder.py": """
                from mail import clock, smtp

                DAY = 86_400
                _last = {}


                def remind(name):
                    now = clock.now()
                    if name in _last and now - _last[name] < DAY:
                        return False
                    _last[name] = now
                    smtp.send(name, "Do not forget!")
                    return True
                """
        },
    ),
    Honest(
        "builders, factories, fixture parameters and inherited tests",
        base={"crm/__init__.py": ""},
        planned=("crm.people.Person", "crm.people.sort_key"),
        criteria=("story-1.c1", "story-1.c2"),
        integrated=True,
        red={
            f"{PLACE}/conftest.py": """
                import pytest


                @pytest.fixture
                def make_person():
                    from crm.people import Person

                    def make(name="Ada", age=36):
                        return Person(name, age)

                    return make


                @pytest.fixture(params=["Ada", "Zoe"], ids=str.lower)
                def name(request):
                    return request.param
                """,
            f"{PLACE}/test_story_1_people.py": '''
                import pytest

                from crm.people import Person, sort_key


                class GreetingChecks:
                    word = ""

                    def test_greeting(self, make_person):
                        """story-1.c1"""
                        assert make_person().greet(self.word) == f"{self.word}, Ada!"


                class TestEnglish(GreetingChecks):
                    word = "Hello"


                class TestGerman(GreetingChecks):
                    word = "Hallo"


                def test_names(make_person, name):
                    """story-1.c1"""
                    assert make_person(name).initial == name[0]


                @pytest.mark.parametrize(
                    ("ages", "expected"),
                    [
                        pytest.param([3, 1], [1, 3], id="two"),
                        pytest.param([], [], id="none"),
                    ],
                )
                def test_sorting(ages, expected):
                    """story-1.c2"""
                    people = [Person("x", age) for age in ages]
                    assert [person.age for person in sorted(people, key=sort_key)] == expected


                def check_key(person, key):
                    assert sort_key(person) == key


                def test_keys():
                    """story-1.c2"""
                    check_key(Person("x", 4), 4)
                    check_key(Person("y", 5), 5)
                ''',
        },
        green={
            "crm/people.py": """
                class Person:
                    def __init__(self, name, age):
                        self.name = name
                        self.age = age

                    @property
                    def initial(self):
                        return self.name[0]

                    def greet(self, word):
                        return f"{word}, {self.name}!"


                def sort_key(person):
                    return person.age
                """
        },
    ),
    Honest(
        "a program that is run as a process",
        base={"greeter/__init__.py": ""},
        red={
            "tests/test_program.py": """
                import subprocess
                import sys

                import greeter

                def test_the_program_greets():
                    done = subprocess.run(
                        [sys.executable, "-m", "greeter", "Ada"], capture_output=True, text=True, check=False
                    )
                    assert (done.returncode, done.stdout) == (0, "Hello, Ada!\\n")

                def test_the_function_behind_it():
                    assert greeter.greeting("Bob") == "Hello, Bob!"
                """
        },
        green={
            "greeter/__init__.py": """
                def greeting(name):
                    return f"Hello, {name}!"
                """,
            "greeter/__main__.py": """
                import sys

                from greeter import greeting

                if __name__ == "__main__":
                    print(greeting(sys.argv[1]))
                    sys.exit(0)
                """,
        },
    ),
    Honest(
        "warnings for what is deprecated",
        base={"api.py": "def fetch(key):\n    return key\n"},
        red={
            "tests/test_deprecation.py": """
                import warnings

                import pytest

                import api

                def test_the_old_name_warns():
                    with pytest.warns(DeprecationWarning, match="use fetch"):
                        assert api.get("a") == "a"

                def test_the_new_name_does_not():
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        assert api.fetch("a", default=1) == "a"
                """
        },
        green={
            "api.py": """
                import warnings


                def fetch(key, default=None):
                    return key or default


                def get(key):
                    warnings.warn("use fetch", DeprecationWarning, stacklevel=2)
                    return fetch(key)
                """
        },
    ),
    Honest(
        "source that counts, delegates, guards and exits as honest source does",
        base={"engine/__init__.py": ""},
        red={
            "tests/test_engine.py": """
                import pytest

                from engine.core import Delegate, Ids, Same, Temperature, guarded, main, plugin

                def test_ids_count_up():
                    ids = Ids()
                    assert [ids.next(), ids.next(), ids.next()] == [1, 2, 3]

                def test_unknown_attributes_are_delegated():
                    assert Delegate([1, 2]).count(1) == 1

                def test_a_thing_equals_itself_only():
                    same = Same()
                    assert same == same
                    assert same != Same()

                def test_errors_are_kept():
                    errors = []
                    assert guarded(lambda: 1 / 0, errors) is None
                    assert [type(error) for error in errors] == [ZeroDivisionError]

                def test_main_exits_with_a_status():
                    with pytest.raises(SystemExit) as ended:
                        main(["--bad"])
                    assert ended.value.code == 64

                def test_plugins_are_imported_by_name():
                    assert plugin("math").sqrt(9) == 3

                def test_conversion_table():
                    assert [Temperature(0).fahrenheit, Temperature(100).fahrenheit] == [32, 212]
                """
        },
        green={
            "engine/core.py": """
                import importlib
                import itertools
                import sys


                class Ids:
                    def __init__(self):
                        self._count = itertools.count(1)

                    def next(self):
                        return next(self._count)


                class Delegate:
                    def __init__(self, inner):
                        self._inner = inner

                    def __getattr__(self, name):
                        return getattr(self._inner, name)


                class Same:
                    def __eq__(self, other):
                        return self is other

                    def __hash__(self):
                        return id(self)


                def guarded(action, errors):
                    try:
                        return action()
                    except ArithmeticError as error:
                        errors.append(error)
                        return None


                def main(argv):
                    if argv and argv[0].startswith("--"):
                        sys.exit(64)


                def plugin(name):
                    return importlib.import_module(name)


                class Temperature:
                    def __init__(self, celsius):
                        self.celsius = celsius

                    @property
                    def fahrenheit(self):
                        return self.celsius * 9 / 5 + 32
                """
        },
    ),
    Honest(
        "a refactoring turns a chain of questions into a table and drops dead code",
        base={
            "codes/__init__.py": "",
            "codes/names.py": """
                def _unused(code):
                    return code
                """,
        },
        red={
            "tests/test_codes.py": """
                import pytest

                from codes.names import name_of

                @pytest.mark.parametrize(
                    ("code", "name"), [(200, "ok"), (404, "missing"), (500, "broken"), (1, "unknown")]
                )
                def test_names(code, name):
                    assert name_of(code) == name
                """
        },
        green={
            "codes/names.py": """
                def name_of(code):
                    if code == 200:
                        return "ok"
                    elif code == 404:
                        return "missing"
                    elif code == 500:
                        return "broken"
                    else:
                        return "unknown"


                def _unused(code):
                    return code
                """
        },
        refactor={
            "codes/names.py": """
                from codes._table import NAMES


                def name_of(code):
                    return NAMES.get(code, "unknown")
                """,
            "codes/_table.py": """
                NAMES = {200: "ok", 404: "missing", 500: "broken"}
                """,
        },
    ),
    Honest(
        "a refactoring turns a module into a package",
        base={"maths/__init__.py": ""},
        red={
            "tests/test_maths.py": """
                from maths.stats import mean, spread

                def test_mean():
                    assert mean([1, 2, 3]) == 2

                def test_spread():
                    assert spread([1, 5]) == 4
                """
        },
        green={
            "maths/stats.py": """
                def mean(values):
                    total = 0
                    for value in values:
                        total = total + value
                    return total / len(values)


                def spread(values):
                    low = values[0]
                    high = values[0]
                    for value in values:
                        if value < low:
                            low = value
                        if value > high:
                            high = value
                    return high - low
                """
        },
        refactor={
            "maths/stats.py": None,
            "maths/stats/__init__.py": """
                from maths.stats.centre import mean
                from maths.stats.width import spread

                __all__ = ["mean", "spread"]
                """,
            "maths/stats/centre.py": """
                def mean(values):
                    return sum(values) / len(values)
                """,
            "maths/stats/width.py": """
                def spread(values):
                    return max(values) - min(values)
                """,
        },
    ),
    Honest(
        "green touches several files, exports a name and drops an obsolete module",
        base={
            "media/__init__.py": "from media.old import load\n",
            "media/old.py": "def load(path):\n    return path\n",
            "media/formats.txt": "png\n",
            "tests/test_load.py": """
                from media import load

                def test_load():
                    assert load("a.png") == "a.png"
                """,
        },
        red={
            "tests/test_formats.py": """
                import pytest

                import media

                def test_known_formats():
                    assert media.formats() == ["gif", "png"]

                def test_an_unknown_format_is_refused():
                    with pytest.raises(media.UnknownFormat):
                        media.load("a.exe")
                """
        },
        green={
            "media/__init__.py": """
                from media.formats import UnknownFormat, formats
                from media.loading import load

                __all__ = ["UnknownFormat", "formats", "load"]
                """,
            "media/old.py": None,
            "media/formats.txt": "png\ngif\n",
            "media/formats.py": """
                from pathlib import Path


                class UnknownFormat(ValueError):
                    pass


                def formats():
                    return sorted(Path(__file__).with_name("formats.txt").read_text().split())
                """,
            "media/loading.py": """
                from media.formats import UnknownFormat, formats


                def load(path):
                    if path.rpartition(".")[2] not in formats():
                        raise UnknownFormat(path)
                    return path
                """,
        },
    ),
]
