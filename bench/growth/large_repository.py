"""The demo's shop with any number of files or tests, and a person's RED and GREEN commits on top."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from growth.fast_import import FastImport
from growth.shop import shop

RED, GREEN = "mine-red", "mine-green"
TEST = """from shop.gifts import gift


def test_from_a_hundred_euros_on_there_is_a_gift():
    assert gift(10_000)


def test_below_there_is_none():
    assert not gift(9_999)
"""
CODE = "def gift(cents):\n    return cents >= 10_000\n"
A_DIRECTORY = 50  # files
A_MODULE = 100  # tests


def many_files(directory: Path, size: int) -> Path:
    """Add distinct short modules; every fourth imports its neighbor."""
    return build_repository(directory, {path: text.encode() for path, text in modules(size)})


def modules(size: int) -> Iterator[tuple[str, str]]:
    for number in range(size):
        package, module = divmod(number, A_DIRECTORY)
        yield f"src/grown/part_{package:04}/module_{module}.py", module_text(number, package, module)


def module_text(number: int, package: int, module: int) -> str:
    neighbour = f"from grown.part_{package:04} import module_{module - 1}\n\n" if module % 4 == 1 else ""
    return (
        f'"""Part {number} of many."""\n\n{neighbour}'
        f"LIMIT_{number} = {number}\n\n\n"
        f"def total_{number}(prices, voucher=0):\n"
        f'    """The sum of the prices, less the voucher."""\n'
        f"    if voucher > {number}:\n        raise ValueError(voucher)\n"
        f"    return sum(prices) - voucher\n"
    )


def many_tests(directory: Path, size: int) -> Path:
    return build_repository(directory, {path: text.encode() for path, text in suites(size)})


def suites(size: int) -> Iterator[tuple[str, str]]:
    for start in range(0, size, A_MODULE):
        tests = (test_text(number) for number in range(start, min(start + A_MODULE, size)))
        text = "from shop.catalog import Catalog\n" + "".join(tests)
        yield f"tests/grown/test_grown_{start // A_MODULE:04}.py", text


def test_text(number: int) -> str:
    return f"\n\ndef test_number_{number}():\n    assert Catalog is not None and {number} + 1 == {number + 1}\n"


def build_repository(directory: Path, files: dict[str, bytes]) -> Path:
    repo = shop(directory)
    with FastImport(repo) as history:
        history.commit("main", "Many more", files, parent="refs/heads/main^0")
        history.commit(RED, "Gifts, tested", {"tests/test_gifts.py": TEST.encode()}, parent="refs/heads/main")
        history.commit(GREEN, "Gifts", {"src/shop/gifts.py": CODE.encode()}, parent=f"refs/heads/{RED}")
    return repo
