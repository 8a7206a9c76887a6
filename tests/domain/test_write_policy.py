"""Which phase may write which files, as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import PathRules, classify_path
from prd2pr.domain.records import Phase
from prd2pr.domain.write_policy import OPEN_SCOPE, WritePolicy, build_write_policy, check_write, find_path_problem

RULES = PathRules()
RED = build_write_policy(Phase.RED, "shop-1")
GREEN = build_write_policy(Phase.GREEN, "shop-1", locked=["tests/tdd/shop-1/test_shop_1_points.py"])
REFACTOR = build_write_policy(Phase.REFACTOR, "shop-1")
FUSED = build_write_policy(Phase.RED, "shop-1", fused=True)
DESIGN = build_write_policy(Phase.DESIGN, "shop-1")


def code_of(path: str, policy: WritePolicy) -> str:
    refusal = check_write(path, classify_path(path, RULES), policy)
    return refusal.code if refusal else "ok"


@pytest.mark.parametrize(
    ("path", "red", "green", "refactor", "fused"),
    [
        ("tests/tdd/shop-1/test_shop_1_points.py", "ok", "GRN201", "GRN101", "ok"),
        ("tests/tdd/shop-1/conftest.py", "ok", "GRN101", "GRN101", "ok"),
        ("tests/tdd/shop-1/data/prices.json", "ok", "GRN101", "GRN101", "ok"),
        ("tests/tdd/shop-10/test_shop_10.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("tests/tdd/test_shop_1.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("tests/test_cart.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("tests/conftest.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("src/shop/points.py", "RED101", "ok", "ok", "ok"),
        ("src/shop/conftest.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("conftest.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("pyproject.toml", "RED101", "GRN101", "GRN101", "RED101"),
        ("tests/tdd/shop-1/pytest.ini", "RED101", "GRN101", "GRN101", "RED101"),
        ("requirements.txt", "RED101", "GRN101", "GRN101", "RED101"),
        ("sitecustomize.py", "RED101", "GRN101", "GRN101", "RED101"),
        ("src/pytest.py", "RED101", "GRN101", "GRN101", "RED101"),
        (".github/workflows/ci.yml", "RED101", "GRN101", "GRN101", "RED101"),
        (".orch-state/prds/shop/status.json", "RED101", "GRN101", "GRN101", "RED101"),
        (".prd2pr.yml", "RED101", "GRN101", "GRN101", "RED101"),
        ("CLAUDE.md", "RED101", "GRN101", "GRN101", "RED101"),
        (".gitmodules", "RED101", "GRN101", "GRN101", "RED101"),
        ("README.md", "RED101", "GRN101", "GRN101", "RED101"),
    ],
)
def test_each_phase_writes_only_its_own_files(path: str, red: str, green: str, refactor: str, fused: str) -> None:
    assert [code_of(path, policy) for policy in (RED, GREEN, REFACTOR, FUSED)] == [red, green, refactor, fused]


def test_red_writes_existing_tests() -> None:
    policy = build_write_policy(Phase.RED, "shop-1", existing=["tests/test_cart.py"])
    assert code_of("tests/test_cart.py", policy) == "ok"
    assert code_of("tests/test_other.py", policy) == "RED101"
    green = build_write_policy(Phase.GREEN, "shop-1", existing=["tests/test_cart.py"])
    assert code_of("tests/test_cart.py", green) == "GRN101"


@pytest.mark.parametrize("path", ["src/shop/points.py", "tests/tdd/shop-1/test_a.py", "docs/design.md"])
def test_design_writes_nothing(path: str) -> None:
    assert code_of(path, DESIGN) == "GRN101"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "~/x.py",
        "C:/x.py",
        "..",
        "../x.py",
        "src/../../x.py",
        "src/./x.py",
        "src//x.py",
        "src/x.py/",
        "src\\x.py",
        "src/a\0b.py",
        "src/a\nb.py",
        "src/a\x1bb.py",
        "src/\u202eyp.a",
        "src/a\u200bb.py",
        "src/a\udc80.py",
        ".git/hooks/pre-commit",
        "src/.GIT/config",
        "git~1/config",
        "src/-x.py",
        "src/x.py ",
        "src/x.",
        "src/" + "a" * 300 + ".py",
        "a/" * 300 + "x.py",
    ],
)
@pytest.mark.parametrize("policy", [RED, GREEN, FUSED], ids=["red", "green", "fused"])
def test_unusual_paths_are_refused_whatever_their_kind(path: str, policy: WritePolicy) -> None:
    assert find_path_problem(path)
    assert all(check_write(path, kind, policy) is not None for kind in PathKind)


@pytest.mark.parametrize(
    "path", ["src/größe.py", "src/a b/c.py", "src/.hidden/x.py", "a.py", "src/x-y_z.py", "src/..x.py"]
)
def test_ordinary_paths_are_allowed(path: str) -> None:
    assert find_path_problem(path) == ""


def test_a_refusal_says_what_to_do_instead() -> None:
    refusal = check_write("src/shop/points.py", PathKind.SOURCE, RED)
    assert refusal is not None
    assert refusal.message == (
        "'src/shop/points.py' may not be written: it is a source file. Write only tests under tests/tdd/shop-1/."
    )


def test_locked_file_message_names_the_legitimate_alternative() -> None:
    refusal = check_write("tests/tdd/shop-1/test_shop_1_points.py", PathKind.TEST, GREEN)
    assert refusal is not None
    assert "contradiction" in refusal.message


def test_docs_story_may_write_only_docs() -> None:
    documents = build_write_policy(Phase.GREEN, "shop-1", kind="docs")
    assert code_of("docs/points.md", documents) == "ok"
    assert code_of("pyproject.toml", documents) == "GRN101"
    assert code_of("src/shop/points.py", documents) == "GRN101"
    assert code_of("src/shop/points.py", build_write_policy(Phase.GREEN, "shop-1", kind="chore")) == "ok"
    for scope in OPEN_SCOPE.values():
        assert not scope & {PathKind.STATE, PathKind.CI, PathKind.PROTECTED, PathKind.TEST_CONFIG, PathKind.TEST}


def test_every_kind_has_a_description() -> None:
    nothing = WritePolicy(Phase.GREEN, "shop-1", frozenset())
    everything = WritePolicy(Phase.GREEN, "shop-1", OPEN_SCOPE["chore"] | {PathKind.TEST, PathKind.MANIFEST})
    for kind in PathKind:
        refused = check_write("x/y.txt", kind, nothing)
        assert refused is not None
        assert "writes no files" in refused.message
    outside = check_write("tests/x.py", PathKind.TEST, everything)
    assert outside is not None
    assert "documentation" in outside.message


def test_workers_get_globs() -> None:
    assert RED.globs() == ("tests/tdd/shop-1/**",)
    assert GREEN.globs(["src/**"]) == ("src/**",)
    assert FUSED.globs() == ("tests/tdd/shop-1/**", "**/*.py")
    assert DESIGN.globs() == ()


def test_stories_of_a_conversation_write_their_own_tests_and_the_shared_helper() -> None:
    policy = replace(
        build_write_policy(Phase.RED, "shop-1", fused=True), others=("shop-2",), shared_helper="tests/conftest.py"
    )
    allowed = ("tests/tdd/shop-1/test_a.py", "tests/tdd/shop-2/test_b.py", "tests/conftest.py", "src/shop/a.py")
    for path in allowed:
        assert check_write(path, classify_path(path), policy) is None
    for path in ("tests/tdd/shop-3/test_c.py", "tests/test_old.py", "tests/unit/conftest.py", "conftest.py"):
        assert check_write(path, classify_path(path), policy) is not None
