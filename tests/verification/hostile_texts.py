"""Generated texts meant to crash a parser or keep it busy forever."""

from __future__ import annotations

from collections.abc import Callable, Iterable

HEAD = "import os\nimport pytest\nfrom shop.points import earn\n\n\n"


def wrap_in_test(*lines: str) -> str:
    return HEAD + "def test_it():\n" + "".join(f"    {line}\n" for line in lines)


def nested(opening: str, inner: str, closing: str, depth: int) -> str:
    return f"{opening * depth}{inner}{closing * depth}"


def chained(first: str, step: Callable[[int], str], count: int) -> list[str]:
    """Lines that each use the previous one, mostly twice."""
    return [first, *(step(number) for number in range(1, count))]


def many(line: Callable[[int], str], count: int) -> str:
    return "".join(map(line, range(count)))


def deep(depth: int) -> dict[str, str]:
    """Nesting beyond the limit, or just within it, where visiting every part twice takes exponential time."""
    helper = "def f(x):\n    return x\n\n\n"
    return {
        "lists": wrap_in_test(f"assert earn({nested('[', '1', ']', depth)}) == 1"),
        "calls": wrap_in_test(f"assert {nested('earn(', '1', ')', depth)} == 1"),
        "calls of a helper": HEAD + helper + f"def test_it():\n    assert earn({nested('f(', '1', ')', depth)}) == 1\n",
        "negations": wrap_in_test(f"assert {'not ' * depth}earn(1)"),
        "sums": wrap_in_test(f"assert earn({' + '.join(['1'] * depth)}) == {' + '.join(['1'] * depth)}"),
        "attributes": wrap_in_test(f"assert earn{'.a' * depth} == 1"),
        "calls of calls": wrap_in_test(f"assert earn{'()' * depth} == 1"),
        "lambdas": wrap_in_test(f"assert earn({'lambda: ' * depth}1) == 1"),
        "powers": wrap_in_test(f"assert earn(1) == {nested('(', '2', ' ** 64)', depth)}"),
        "branches": wrap_in_test("if earn(0) == 0:", "    x = 0", *_branches(depth), "assert earn(1) == 1"),
    }


def _branches(depth: int) -> Iterable[str]:
    for number in range(depth):
        yield from (f"elif earn({number}):", f"    x = {number}")


def growing() -> dict[str, str]:
    """Short texts that expand without bound."""
    tupled = chained("a0 = (1, 2)", lambda n: f"a{n} = (a{n - 1}, a{n - 1})", 60)
    summed = chained("a0 = 1", lambda n: f"a{n} = a{n - 1} + a{n - 1}", 60)
    listed = chained("a0 = [1, 2]", lambda n: f"a{n} = [*a{n - 1}, *a{n - 1}]", 60)
    asked = chained("a0 = os.environ['X']", lambda n: f"a{n} = a{n - 1} + a{n - 1}", 60)
    shared = ["b = os.environ['X']", *_layers(4, 40)]
    helpers = "def h0(x):\n    return earn(x)\n\n\n" + many(
        lambda n: f"def h{n + 1}(x):\n    return (h{n}(x), h{n}(x))\n\n\n", 40
    )
    acting = "def c0(x):\n    assert earn(x) == 1\n\n\n" + many(
        lambda n: f"def c{n + 1}(x):\n    c{n}(x)\n    c{n}(x)\n\n\n", 40
    )
    loops = " ".join(f"for x{number} in range(2000)" for number in range(4))
    return {
        "doubled tuples": wrap_in_test(*tupled, "assert earn(a59) == a59"),
        "doubled sums": wrap_in_test(*summed, "assert earn(a59) == a59"),
        "doubled lists": wrap_in_test(*listed, "assert earn(a59) == a59"),
        "doubled strays": wrap_in_test(*asked, "assert earn(int(a59)) == a59"),
        "shared strays": wrap_in_test(*shared, "assert earn(int(c4_0)) == 1"),
        "doubled constants": HEAD + "\n".join(summed) + "\n\n\ndef test_it():\n    assert earn(a59) == a59\n",
        "doubled rows": HEAD
        + "\n".join(listed)
        + "\n\n\n@pytest.mark.parametrize('x', a59)\ndef test_it(x):\n    assert earn(x) == 1\n",
        "doubling helpers": HEAD + helpers + "def test_it():\n    assert h40(1) == 2\n",
        "doubling checks": HEAD + acting + "def test_it():\n    c40(1)\n",
        "loops in loops": HEAD
        + f"@pytest.mark.parametrize('x', [1 {loops}])\ndef test_it(x):\n    assert earn(x) == 1\n",
        "loops over nothing": wrap_in_test(f"for x in [1 {loops} if x0 < 0]:", "    assert earn(x) == 1"),
        "a great number": wrap_in_test("assert earn(1) == (((((9 ** 64) ** 64) ** 64) ** 64) ** 64) ** 64"),
        "an infinite number": wrap_in_test("assert earn(1) == 1e300 ** 64", "assert earn(2) == -(1e300 * 1e300)"),
        "a long text": wrap_in_test("assert earn('%999999999d' % 1) == 'a' * 999999999"),
        "text times text": wrap_in_test("x = 'ab' * 2000", "assert earn(x) == x * 2000 * 2000 * 2000"),
    }


def _layers(depth: int, width: int) -> Iterable[str]:
    """Names that each use all names of the layer below."""
    below = ["b"] * width
    for layer in range(1, depth + 1):
        yield from (f"c{layer}_{n} = [{', '.join(below)}]" for n in range(width))
        below = [f"c{layer}_{n}" for n in range(width)]


def circular() -> dict[str, str]:
    """Circular references."""
    return {
        "a helper that calls itself": HEAD
        + "def f(x):\n    return f(f(x))\n\n\ndef test_it():\n    assert f(earn(1)) == 1\n",
        "helpers that call each other": HEAD
        + "def f(x):\n    return g(x)\n\n\ndef g(x):\n    return f(x)\n\n\n"
        + "def test_it():\n    f(earn(1))\n    assert g(earn(2)) == 1\n",
        "names in a circle": wrap_in_test("a = b", "b = a", "x = a[os.sep]", "assert earn(int(a + b)) == b"),
        "constants in a circle": HEAD + "A = B\nB = A\n\n\ndef test_it():\n    assert earn(int(A + B)) == open(A)\n",
        "a name that is itself": wrap_in_test("a = a", "assert earn(int(a)) == a"),
        "classes in a circle": HEAD
        + "class TestA(TestB):\n    def test_it(self):\n        assert earn(1) == 1\n\n\n"
        + "class TestB(TestA):\n    pass\n",
        "fixtures in a circle": HEAD
        + "@pytest.fixture\ndef a(b):\n    return b\n\n\n@pytest.fixture\ndef b(a):\n    return a\n\n\n"
        + "def test_it(a, b):\n    assert earn(a) == b\n",
        "a fixture of its own name": HEAD
        + "@pytest.fixture(autouse=True)\ndef a(a):\n    return a\n\n\ndef test_it(a):\n    assert earn(a) == 1\n",
        "a function in a circle of names": HEAD
        + "f = g = h = lambda x: f(g(h(x)))\n\n\ndef test_it():\n    assert f(earn(1)) == g(h(earn(1)))\n",
    }


def long() -> dict[str, str]:
    """A megabyte each."""
    return {
        "a text": wrap_in_test(f"assert earn('{'ab ' * 350_000}') == 1"),
        "digits": wrap_in_test(f"assert earn(0x{'9' * 1_000_000}) == 1"),
        "comments": HEAD + "# a word\n" * 100_000 + "def test_it():\n    assert earn(1) == 1\n",
        "blanks": HEAD + "def test_it():\n" + "\n" * 500_000 + "    assert earn(1) == 1\n",
        "spaces": HEAD + "def test_it():\n    assert earn(1) ==" + " " * 1_000_000 + "1\n",
    }


def wide(count: int) -> dict[str, str]:
    """Many similar items."""
    rows = many(lambda n: f"({n}, {n}), ", 10 * count)
    return {
        "tests": HEAD + many(lambda n: f"def test_{n}():\n    assert earn({n}) == {n}\n\n\n", count),
        "asserts": wrap_in_test(*(f"assert earn({n}) == {n}" for n in range(count))),
        "rows": HEAD + f"@pytest.mark.parametrize('x', [{rows}])\ndef test_it(x):\n    assert earn(x) == x\n",
        "names": wrap_in_test(
            *(f"a{n} = a{max(n - 1, 0)}" for n in range(count)), f"assert earn(int(a9)) == a{count - 1}"
        ),
        "imports": many(lambda n: f"from shop.m{n} import a{n}\n", count) + wrap_in_test("assert earn(a1) == a2"),
        "functions": HEAD
        + many(lambda n: f"def f{n}(x):\n    return earn(x) + {n}\n\n\n", count)
        + "def test_it():\n    assert f1(2) == 3\n",
        "methods": HEAD
        + "class TestIt:\n"
        + many(lambda n: f"    def test_{n}(self):\n        assert earn({n}) == {n}\n\n", count),
    }


def unreadable() -> dict[str, str]:
    return {
        "no Python": "def (:\n",
        "a null byte": HEAD + "def test_it():\n    assert earn('\0') == 1\n",
        "a lone surrogate": wrap_in_test("assert earn('\\ud800') == '\\udfff'"),
        "nothing": "",
        "brackets alone": "(" * 100_000,
        "digits alone": "9" * 5_000 + "\n" + wrap_in_test(f"assert earn({'9' * 5_000}) == 1"),
    }
