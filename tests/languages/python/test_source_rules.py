from __future__ import annotations

import textwrap

import pytest

from prd2pr.domain.records import Phase
from prd2pr.languages.python.rules.source_code.source_file import check_source_file
from prd2pr.languages.python.rules.test_code.test_file import FactContext

TESTS = {"tests/test_shop.py": "def test_a():\n    assert add(2, 3) == 5\n    assert add(7, 4) == 11\n"}


def codes(new: str, old: str | None = None, phase: Phase = Phase.GREEN, **context: object) -> list[str]:
    settings: dict[str, object] = {"test_sources": TESTS, **context}
    facts = check_source_file(
        "src/shop.py",
        None if old is None else textwrap.dedent(old),
        textwrap.dedent(new),
        FactContext(**settings),
        phase,
    )
    return [fact.code for fact in facts]


SIGNS = [
    ("GRN401", "import pytest"),
    ("GRN401", "from unittest import mock"),
    ("GRN401", "__import__('_pytest.reports')"),
    ("GRN401", "import importlib\nimportlib.import_module('pytest')"),
    ("GRN401", "import os\nif 'PYTEST_CURRENT_TEST' in os.environ:\n    x = 1"),
    ("GRN401", "import os\nx = os.getenv('PYTEST_' + 'VERSION')"),
    ("GRN401", "import sys\nx = 'pytest' in sys.modules"),
    ("GRN401", "import sys\nx = any('pytest' in arg for arg in sys.argv)"),
    ("GRN401", "from sys import modules\nx = modules.get('_pytest')"),
    ("GRN403", "import sys\nx = sys._getframe(1)"),
    ("GRN403", "import inspect\nx = inspect.stack()"),
    ("GRN403", "from inspect import currentframe\nx = currentframe().f_back"),
    ("GRN403", "import sys\nsys.settrace(print)"),
    ("GRN404", "import os\ndef f():\n    os._exit(0)"),
    ("GRN404", "import sys\nsys.exit(0)"),
    ("GRN404", "raise SystemExit(0)"),
    ("GRN404", "import atexit, sys\ndef bye():\n    sys.exit(0)\natexit.register(bye)"),
    ("GRN404", "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGKILL)"),
    ("GRN404", "import subprocess\nsubprocess.Popen(['sleep', '9'])"),
    ("GRN405", "class A:\n    def __eq__(self, other):\n        return True"),
    ("GRN405", "class A:\n    def __eq__(self, o):\n        if o:\n            return True\n        return True"),
    ("GRN405", "class A:\n    __eq__ = lambda self, other: True"),
    ("GRN405", "class A:\n    def __ne__(self, other):\n        return False"),
    ("GRN406", "def __getattr__(name):\n    return lambda *a: 5"),
    ("GRN406", "def __getattr__(name):\n    if name.startswith('__'):\n        raise AttributeError\n    return C"),
    ("GRN406", "class P:\n    def __getattr__(self, name):\n        return lambda: 6 if name[0] == 'a' else 12"),
    ("GRN406", "class P:\n    def __getattr__(self, name):\n        return lambda: {'area': 6}.get(name, 12)"),
    ("GRN407", "import time\ntime.time = lambda: 0"),
    ("GRN407", "import random\ndef f():\n    random.seed(0)"),
    ("GRN407", "import builtins\nsetattr(builtins, 'len', lambda x: 5)"),
    ("GRN407", "import sys\nsys.modules['random'] = None"),
    ("GRN408", "def f():  # pragma: no cover\n    return 1"),
    ("GRN415", "def f():\n    try:\n        return g()\n    finally:\n        return 5"),
    ("GRN415", "from contextlib import suppress\ndef f():\n    with suppress(BaseException):\n        g()"),
    ("GRN409", "def f():\n    try:\n        g()\n    except Exception:\n        pass"),
    ("GRN410", "n = 0\ndef f():\n    global n\n    n += 1\n    return 5 if n == 1 else 6"),
    ("GRN411", "def f():\n    return open('tests/test_shop.py').read()"),
    ("GRN401", "import os\nx = any(k.endswith('CURRENT_TEST') for k in os.environ)"),
    ("GRN401", "import sys\nx = [m for m in sys.modules if m[:2] == '_p' and m[2:] == 'ytest']"),
    ("GRN401", "import sys\nfor m in list(sys.modules.values()):\n    f = getattr(m, 'Function', None)"),
    ("GRN401", "import sys\ndef f(a, b):\n    return a * b if 'test_shop' in sys.modules else 0"),
    ("GRN401", "import sys\ndef f(a, b):\n    return a * b if sys.argv[0].endswith('st') else 0"),
    ("GRN401", "import __main__\nx = vars(__main__).get('pytest')"),
    ("GRN403", "import sys\nx = getattr(sys, '_get' + 'frame')(1)"),
    ("GRN403", "def f(e):\n    return getattr(getattr(e.__traceback__, 'tb_' + 'frame'), 'f_' + 'back')"),
    ("GRN403", "def f(g):\n    return max(g.__code__.co_consts)"),
    ("GRN405", "class N(int):\n    def __eq__(self, other):\n        return isinstance(other, int)"),
    ("GRN405", "class N:\n    def __eq__(self, other):\n        return other is not None"),
    ("GRN405", "class N:\n    def __eq__(self, other):\n        return other == other"),
    ("GRN405", "class N:\n    pass\nsetattr(N, '__eq__', lambda s, o: True)"),
    ("GRN405", "N = type('N', (), {'__eq__': lambda s, o: True})"),
    ("GRN405", "class N:\n    pass\ndef same(a, b):\n    return True\nN.__eq__ = same"),
    ("GRN407", "import sys\nsys.meta_path.insert(0, object())"),
    ("GRN407", "import sys\nsys.modules.setdefault('helpers', None)"),
    ("GRN407", "import sys\nsys.modules.pop('helpers', None)"),
    ("GRN407", "import sys\ndel sys.modules['helpers']"),
    ("GRN407", "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))"),
    ("GRN407", "def f(g):\n    g.__code__ = (lambda: None).__code__"),
    ("GRN411", "def f():\n    import test_shop"),
    ("GRN411", "from .tests import test_shop"),
    ("GRN411", "import pathlib\ndef f():\n    for p in pathlib.Path(__file__).parent.iterdir():\n     p.open()"),
    ("GRN411", "from pathlib import Path\nH = Path(__file__).parent\nfor p in H.glob('t*.py'):\n    p.write_text('')"),
    ("GRN411", "from pathlib import Path\n(Path(__file__).parent / ('test_' + 'shop.py')).write_text('')"),
    ("GRN402", "def add(a, b):\n    if (a, b) == (2, 3):\n        return 5\n    return 11"),
    ("GRN402", "TABLE = {(2, 3): 5, (7, 4): 11}\ndef add(a, b):\n    return TABLE[a, b]"),
    ("GRN402", "def add(a, b):\n    return 5"),
    ("GRN401", "import sys\nNAME = 'py' + 'test'\ndef f():\n    return NAME in sys.modules"),
    ("GRN401", "import sys as s\nM = s.modules\ndef f():\n    return 'pytest' in M"),
    ("GRN401", "import sys\ndef f():\n    return len(sys.modules) > 300"),
    ("GRN401", "import sys\ndef f():\n    return hasattr(sys.modules['__main__'], '__file__')"),
    ("GRN401", "import sys\ndef f():\n    return getattr(sys, 'mod' + 'ules')"),
    ("GRN401", "import sys\ndef f():\n    return vars(sys)['argv']"),
    ("GRN401", "import sys\ndef f():\n    return any('test' in word for word in sys.argv)"),
    ("GRN401", "import os\ndef f():\n    return any(k.startswith('PYT') for k in os.environ)"),
    ("GRN401", "def f():\n    return open('/proc/self/cmdline').read()"),
    ("GRN401", "import sys\ndef f():\n    return type(sys.stdin).__name__ == 'DontReadFromInput'"),
    ("GRN403", "def f():\n    return __import__('sys')._getframe(1)"),
    ("GRN403", "import sys\ndef f():\n    sys.monitoring.set_events(1, 2)"),
    ("GRN414", "import os\ndef f():\n    return 1 if os.getenv('GITHUB_ACTIONS') else 0"),
    ("GRN414", "import os\ndef f():\n    return 'TESTING' in os.environ"),
    ("GRN402", "ROWS = [(2, 3, 5), (7, 4, 11)]\ndef add(a, b):\n    return dict(ROWS)[a, b]"),
    ("GRN402", "def add(a, b):\n    match a, b:\n        case 2, 3:\n            return 5\n    return 1"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "source"), SIGNS)
def test_a_new_fault_is_reported(code: str, source: str) -> None:
    assert code in codes(source)
    assert code not in codes(f"{source}\n\n\ndef later():\n    return 0\n", old=source)


HONEST = {
    "looks around for a reason": """
        import importlib.util
        import os
        import sys
        import threading
        THIS = sys.modules[__name__]
        def settings():
            return {name: value for name, value in os.environ.items() if name.startswith("SHOP_")}
        def is_loaded(name):
            return name in sys.modules and importlib.util.find_spec(name) is not None
        def main(argv=None):
            words = sys.argv[1:] if argv is None else argv
            return "latest" in words, sys.argv[1] == "test", getattr(sys, "frozen", False)
        def told(error):
            return error.__traceback__.tb_lineno, threading.current_thread().name
        def cores():
            return open("/proc/cpuinfo").read()
    """,
    "rows that are no answers": """
        SIZES = [("small", 2), ("large", 7)]
        PAIRS = [(2, 7), (3, 4)]
    """,
    "lazy module": """
        _LAZY = {"x": "y"}
        def __getattr__(name):
            if name in _LAZY:
                return _LAZY[name]
            raise AttributeError(name)
    """,
    "delegating module": """
        import importlib
        def __getattr__(name):
            return getattr(importlib.import_module("shop._impl"), name)
    """,
    "equality": """
        class P:
            def __init__(self, a): self.a = a
            def __eq__(self, other):
                if not isinstance(other, P):
                    return NotImplemented
                return self.a == other.a
    """,
    "equality of a singleton": "class Nil:\n    def __eq__(self, other):\n        return isinstance(other, Nil)",
    "signature": "import inspect\ndef f(g):\n    return inspect.signature(g).parameters",
    "main": "import sys\ndef main():\n    sys.exit(3)\nif __name__ == '__main__':\n    sys.exit(main())",
    "runs pytest": "import subprocess, sys\ndef run():\n    return subprocess.run([sys.executable, '-m', 'pytest'])",
    "atexit cleanup": "import atexit, shutil\natexit.register(shutil.rmtree, 'x')",
    "type checking": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:  # pragma: no cover\n    import decimal",
    "script guard": "if __name__ == '__main__':  # pragma: no cover\n    print(1)",
    "delegation": "class P:\n    def __getattr__(self, name):\n        return getattr(self._inner, name)",
    "nothing there": "class P:\n    def __getattr__(self, name):\n        return lambda *_, **__: None",
    "remote": "class P:\n    def __getattr__(self, name):\n        return lambda *a: self._call('/' + name, a)",
    "builder": "class P:\n    def __getattr__(self, name):\n        return lambda *a: Tag(name, 'html', a)",
    "attributes of a table": "class P(dict):\n    def __getattr__(self, name):\n        return self.get(name, '')",
    "lazy module with dunders": """
        def __getattr__(name):
            if name.startswith("_"):
                raise AttributeError(name)
            if name not in LATER:
                raise AttributeError(name)
            return load(name)
    """,
    "closes at the end": "def f(x):\n    try:\n        return g(x)\n    finally:\n        x.close()",
    "suppresses one": "from contextlib import suppress\ndef f():\n    with suppress(KeyError):\n        g()",
    "clock": "import time\ndef now():\n    return time.time()",
    "seed by argument": "import random\ndef shuffle(xs, seed):\n    random.seed(seed)\n    random.shuffle(xs)",
    "narrow handler": "def f():\n    try:\n        return g()\n    except KeyError:\n        return None",
    "counter object": "class Hits:\n    n = 0\n    def hit(self):\n        self.n += 1\n        return self.n",
    "stdout": "import sys\ndef quiet():\n    sys.stdout = open('x', 'w')",
    "own environment": "import os\nRATE = os.environ.get('SHOP_RATE', '1')",
    "rule": "def add(a, b):\n    return a + b",
    "traceback text": "import traceback\ndef f():\n    return traceback.format_exc()",
    "tests of templates": "from .tests import TESTS\nfrom shop.client import test_mode",
    "own module": "import sys\nME = sys.modules[__name__]",
    "search path of a program": "import sys\ndef load(directory):\n    sys.path.insert(0, directory)",
    "program name": "import sys\nfrom pathlib import Path\ndef usage():\n    return Path(sys.argv[0]).name",
    "started as a module": "import sys\nPROG = 'shop' if sys.argv[0].endswith('__main__.py') else sys.argv[0]",
    "templates": """
        from pathlib import Path
        HERE = Path(__file__).parent
        def templates():
            return [path.read_text() for path in (HERE / "templates").glob("*")]
        def queries():
            return [path.read_text() for path in HERE.glob("*.sql")]
    """,
    "plugins": """
        import importlib
        from pathlib import Path
        def plugins():
            return [importlib.import_module(f"shop.{path.stem}") for path in Path(__file__).parent.glob("*.py")]
    """,
    "equality by the parent": """
        class P(tuple):
            def __eq__(self, other):
                return super().__eq__(other)
    """,
    "equality put in later": """
        class P:
            a = 1
        P.__eq__ = lambda self, other: self.a == other.a
    """,
    "environment of its own kind": """
        import os
        RATES = {key: value for key, value in os.environ.items() if key.startswith("SHOP_")}
    """,
    "numpy loaded": "import sys\ndef fast():\n    return 'numpy' in sys.modules",
}  # fmt: skip


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_honest_source_is_not_reported(source: str) -> None:
    assert codes(source) == []


def test_a_refactoring_is_checked_for_features() -> None:
    old = "def f(a):\n    return a\n"
    assert codes(old + "def g():\n    return 1\n", old, Phase.REFACTOR) == ["RFC402"]
    assert codes("def f(a):\n    return g(a)\ndef g(a):\n    return a\n", old, Phase.REFACTOR) == []
    assert codes(old + "def _g():\n    return 1\n", old, Phase.REFACTOR) == []
    vip = "def f(a):\n    if a == 'vip':\n        return 0\n    return a\n"
    assert codes(vip, old, Phase.REFACTOR) == ["RFC405"]
    loop = "def f(a):\n    for _ in (1,):\n        pass\n    return a\n"
    assert codes(loop, old, Phase.REFACTOR) == []
    twice = "def f(a, b):\n    if a > 10:\n        return a\n    else:\n        return a\n"
    swapped = "def f(a, b):\n    if b == 77:\n        return 0\n    return a\n"
    assert codes(swapped, twice, Phase.REFACTOR) == ["RFC405"]
    put_otherwise = "def f(a, b):\n    return a if a >= 11 else a\n"
    assert codes(put_otherwise, twice, Phase.REFACTOR) == []
    elsewhere = {"src/other.py": "from shop import g\nx = g()\n"}
    assert codes(old + "def g():\n    return 1\n", old, Phase.REFACTOR, sources=elsewhere) == []


def test_a_test_helper_must_keep_its_assertion() -> None:
    tests = {"tests/test_shop.py": "from shop import check\ndef test_a():\n    check(add(2, 3), 5)\n"}
    old = "def check(actual, expected):\n    assert actual == expected\n"
    idle = "def check(actual, expected):\n    return actual == expected\n"
    assert codes(idle, old, test_sources=tests) == ["GRN413"]
    assert codes(idle, old, Phase.REFACTOR, test_sources=tests) == ["GRN413"]
    assert codes(idle, old, test_sources={}) == []
    raising = "def check(actual, expected):\n    if actual != expected:\n        raise ValueError(actual)\n"
    handed_on = "def check(actual, expected):\n    compare(actual, expected)\n"
    assert codes(raising, old, test_sources=tests) == codes(handed_on, old, test_sources=tests) == []


def test_text_that_is_not_python_has_no_facts() -> None:
    assert codes("def f(:") == []


def test_new_source_that_cannot_be_analysed_is_reported() -> None:
    deep = "x = " + "+".join(["1"] * 1000) + "\n"
    assert codes(deep) == ["GRN412"]
    assert codes(deep + "y = 1\n", old=deep) == []
    assert (
        codes(
            "def f(x):\n    if x == -1:\n        return 0\n"
            + "".join(f"    elif x == {n}:\n        return x\n" for n in range(120))
        )
        == []
    )


def test_rows_of_a_parametrised_test_are_examples_too() -> None:
    rows = "[(137, 90), pytest.param(215, 184)]"
    text = f"import pytest\n@pytest.mark.parametrize('a, expected', {rows})\ndef test_f(): ...\n"
    tests = {"tests/test_shop.py": text}
    table = "TABLE = {137: 90, 215: 184}\ndef f(a):\n    return TABLE[a]\n"
    assert codes(table, test_sources=tests) == ["GRN402"]
    assert codes("def f(a):\n    return a * 2 // 3\n", test_sources=tests) == []


KELVIN = "def to_kelvin(celsius):\n    return celsius + 273\n"


def test_a_new_public_lambda_that_nothing_calls_is_a_feature():
    new = KELVIN + "to_rankine = lambda celsius: to_kelvin(celsius) * 9 / 5\n"
    assert "RFC402" in codes(new, KELVIN, Phase.REFACTOR)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (KELVIN, "zero = lambda: 273\n\n\ndef to_kelvin(celsius):\n    return celsius + zero()\n"),
        (KELVIN, "_zero = lambda: 273\n" + KELVIN),
        (KELVIN, "to_kelvin = lambda celsius: celsius + 273\n"),
    ],
)
def test_a_used_private_or_existing_lambda_is_not_reported(old, new):
    assert "RFC402" not in codes(new, old, Phase.REFACTOR)


def test_code_moved_into_a_string_is_reported():
    old = "def parse(text):\n    return int(text)\n"
    new = "def parse(text):\n    return eval(text)\n"
    assert "RFC419" in codes(new, old, Phase.REFACTOR)
    assert "RFC419" not in codes(new.replace("parse", "read"), new, Phase.REFACTOR)
    assert "RFC419" not in codes("def parse(model):\n    return model.eval()\n", old, Phase.REFACTOR)
