"""The living docs of small repositories."""

from __future__ import annotations

import pytest

from living_tree import LivingTree, done, prd
from mermaid_check import check_diagrams
from prd2pr.domain.documents import list_living_paths
from prd2pr.domain.memory_records import (
    DecisionRecord,
    EstimateRecord,
    FailureRecord,
    Lesson,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import REPLAY_OF, Design, Phase, RefusedAttempt, RunRecord
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.queries import compute_correction_factor
from prd2pr.state.codec import encode_document

AT = "2026-11-16T09:00:00Z"
SHOP = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\nscripts = {shop = "shop.cli:main"}\n[tool.pytest]\n',
    "src/shop/__init__.py": '"""A shop."""\n',
    "src/shop/money.py": '"""Money."""\nclass Money:\n    def of(self): ...\n',
    "src/shop/cart.py": "from shop.money import Money\nfrom . import money\nimport httpx\n\n\ndef total(): ...\n",
    "src/shop/cli.py": "import os\nfrom .cart import total\n\n\ndef main():\n    eval(os.environ['SHOP_CODE'])\n",
    "tests/test_cart.py": "def test_total():\n    assert True\n",
    ".gitignore": ".env\n",
}  # fmt: skip


def test_a_repository_without_content_gets_no_documents(tree: LivingTree) -> None:
    assert tree.docs() == {}
    assert {each.word for each in tree.render().documents} == {"nothing to say"}
    assert tree.put({"README.md": "# Shop\n", "notes.txt": "Buy milk.\n"}).docs() == {}


def test_a_python_project(tree: LivingTree) -> None:
    docs = tree.put(SHOP).docs()
    assert "| `money.py` | Money. | `Money` (`of`) | 3 | 1 |" in docs["CODEBASE_MAP"]
    assert "│   ├── cart.py" in docs["CODEBASE_MAP"]
    assert '  n0["shop.cart"]' in docs["ARCHITECTURE"] and "  n0 --> n2" in docs["ARCHITECTURE"]
    assert "| `shop.cart` | `shop.money` | `shop.cli` |" in docs["ARCHITECTURE"]
    assert "Import cycle:" not in docs["ARCHITECTURE"]
    assert "| `httpx` | `shop.cart` |" in docs["ARCHITECTURE"]
    assert "| `shop` | `shop.cli:main` |" in docs["ARCHITECTURE"]
    assert (
        "[`src/shop/cli.py:6`](../src/shop/cli.py#L6)" in docs["SECURITY_REVIEW"]
        and "`eval()`" in docs["SECURITY_REVIEW"]
    )
    assert "`.gitignore` excludes `.env`." in docs["SECURITY_REVIEW"]
    assert "| `SHOP_CODE` | required |" in docs["INFRASTRUCTURE"]
    assert "`python -m pytest`" in docs["RUNBOOK"]
    assert check_diagrams(docs["ARCHITECTURE"]) == 1


def test_an_import_cycle_is_named(tree: LivingTree) -> None:
    docs = tree.put({"a.py": "import b\n", "b.py": "import a\n"}).docs()
    assert "Import cycle: `a` → `b` → `a`." in docs["ARCHITECTURE"]


def test_type_checking_imports_are_no_cycle_and_siblings_are_not_libraries(tree: LivingTree) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n"
    scripts = {"bench/run.py": "import clock\nimport yaml\nfrom shop import cart\n", "bench/clock.py": ""}
    packaged = {"demo/src/shop/__init__.py": "", "demo/src/shop/cart.py": ""}
    docs = tree.put({"a.py": "import b\n", "b.py": typed, **scripts, **packaged}).docs()
    assert "Import cycle:" not in docs["ARCHITECTURE"] and "| `a` | `b` |" in docs["ARCHITECTURE"]
    listed = docs["ARCHITECTURE"].partition("## Third-party libraries")[2]
    assert "| `yaml` | `bench.run` |" in listed and "`clock`" not in listed and "| `shop` |" not in listed


def test_a_project_in_other_languages(tree: LivingTree) -> None:
    docs = tree.put(
        {
            "package.json": '{"name": "web", "version": "1.0.0", "scripts": {"test": "vitest", "start": "node ."}}',
            "src/index.ts": "import { sell } from './shop/sell'\nexport const app = 1\napp.post('/sell', sell)\n",
            "src/shop/sell.ts": "import { m } from './money'\n// if it is sold\nexport function sell(a) "
            "{ if (a && m) return a?.b ?? 'if' }\n",
            "src/shop/money.ts": "export const m = 1\n",
            "src/shop/sell.test.ts": "test('x', () => {})\n",
            "node_modules/x/index.js": "export const foreign = 1\n",
            "tool/main.go": "package main\nfunc Run() {}\n",
            "Makefile": "test:\n\tnpm test\n",
        }
    ).docs()
    assert "| `sell.ts` |  | `sell()` | 3 | ≈ 4 |" in docs["CODEBASE_MAP"]
    assert "by line patterns" in docs["CODEBASE_MAP"] and "`Run()`" in docs["CODEBASE_MAP"]
    assert "foreign" not in docs["CODEBASE_MAP"] and "1 vendored source file" in docs["CODEBASE_MAP"]
    assert "| `src/shop/sell` | `src/shop/money` | `src/index` |" in docs["ARCHITECTURE"]
    assert "| POST | `/sell` |" in docs["ROUTING"]
    assert "`npm test`" in docs["RUNBOOK"] and "`npm start`" in docs["RUNBOOK"]
    assert "SECURITY_REVIEW" not in docs, "only Python code is scanned"


def worked(tree: LivingTree) -> LivingTree:
    design = Design(summary="A function. It sells.", decisions=("Sell at once.",), source_paths=("src/shop/sell.py",))
    refused = (RefusedAttempt(phase=Phase.GREEN, attempt=1, codes=("GRN302",), summary="it did not pass"),)
    early, late = "2026-01-01T00:00:00Z", AT
    return tree.work(
        prd(),
        done("shop-1", "Sell", design=design, refused=refused, minutes=30, estimate_minutes=10, at=early),
        done("shop-2", "Mend", kind="bug", minutes=20, estimate_minutes=10, at=late, description="It was broken."),
        assumptions=("Prices are whole numbers.",),
    )


def test_stories_are_documented(tree: LivingTree) -> None:
    docs = worked(tree).docs()
    assert "- **Sell** (`shop-1`): A function. It sells. In `src/shop/sell.py`." in docs["ARCHITECTURE"]
    assert "- `shop-1.1` Sell at once.\n" in docs["DECISIONS"] and "Prices are whole numbers." in docs["DECISIONS"]
    assert "### shop-1: Sell\n\n**Tried.** A function. It sells.\n" in docs["FAILURES"]
    assert "| green | 1 | `GRN302` | it did not pass | a later attempt" in docs["FAILURES"]
    assert "\n2 stories" in docs["FAILURES"] and "1 of them" in docs["FAILURES"]
    assert "### Added\n\n- **A shop**\n  - Sell (`shop-1`)\n" in docs["CHANGELOG"]
    assert "### Fixed\n\n- **A shop**\n  - Mend (`shop-2`)\n" in docs["CHANGELOG"]
    assert "### shop-1: Sell\n\n- Requirements: FR-1\n" in docs["TRACE"]
    assert "- Steps: red `shop-1/2`, green `shop-1/3`, integrated `shop-1/4`\n" in docs["TRACE"]
    assert "FR-2 (no story covers it)" in docs["TRACE"]


TOOK = tuple(
    EstimateRecord(
        id=f"{story}-4", prd="shop", story=story, at=at, feature="Sell", estimated_minutes=10, actual_minutes=minutes,
        estimated_sessions=4, actual_sessions=3, complexity=3,
    )
    for story, minutes, at in (("shop-1", 30, "2026-01-01T00:00:00Z"), ("shop-2", 20, AT))
)  # fmt: skip


def test_correction_factor_uses_the_last_ninety_days(tree: LivingTree) -> None:
    text = worked(tree).remember(*TOOK).docs()["ESTIMATES"]
    assert "**Correction factor: 2.00 by minutes, 0.75 by sessions.** " in text and "over 1 story of" in text
    assert "  bar [10.00, 10.00]\n  line [30.00, 20.00]" in text
    assert check_diagrams(text) == 1


def test_document_and_query_use_the_same_factor(tree: LivingTree) -> None:
    """The records include a replayed PRD, a story that was done twice and one absurd value."""
    run = RunRecord(id="r-1", started_at=AT, model=f"{REPLAY_OF}demo")
    again = TOOK[1].model_copy(update={"id": "shop-2-9", "actual_minutes": 15, "at": "2026-11-16T10:00:00Z"})
    absurd = TOOK[1].model_copy(update={"id": "absurd", "story": "shop-3", "actual_minutes": 5e5, "actual_sessions": 4})
    fast = TOOK[1].model_copy(update={"id": "fast", "prd": "demo", "story": "demo-1", "actual_minutes": 0.5})
    tree.remember(*TOOK, again, absurd, fast).work(prd("demo"), done("demo-1"))
    tree.put({".orch-state/prds/demo/runs/r-1.json": encode_document(run)})
    text = worked(tree).docs()["ESTIMATES"]
    with MemoryIndex.open(tree.git, tree.tree, code=False) as index:
        found = compute_correction_factor(index, "2026-11-16T10:00:00Z")
    assert (found.minutes, found.sessions, found.estimates, found.timed) == (1.5, 0.833, 3, 1)
    assert ": 1.50 by minutes, 0.83 by" in text and "over 3 stories (minutes: 1) of" in text


def test_a_released_story_is_not_listed_again(tree: LivingTree) -> None:
    worked(tree).put(tree.render().files)
    text = tree.docs_text("CHANGELOG")
    released = f"{text}\n## [1.0.0] - 2026-11-17\n\n- Sell (`shop-1`)\n- `shop-22` and `my-shop-2`\n"
    tree.put({"docs/CHANGELOG.md": released}).put(tree.render().files)
    told = tree.docs_text("CHANGELOG")
    generated, _, by_hand = told.partition("<!-- prd2pr:end CHANGELOG -->")
    assert "shop-1" not in generated and "`shop-2`" in generated
    assert by_hand == released.partition("<!-- prd2pr:end CHANGELOG -->")[2]


def test_memory_is_documented(tree: LivingTree) -> None:
    common = {"prd": "old", "at": AT}
    estimate = {"estimated_minutes": 10, "actual_minutes": 5, "estimated_sessions": 4, "actual_sessions": 6}
    tree.remember(
        FailureRecord(id="f1", feature="Sockets", approach="Raw", why_failed="Scaling", lesson="Use a queue", **common),
        EstimateRecord(id="e1", story="old-1", feature="Old", complexity=3, **estimate, **common),
        EstimateRecord(id="e2", story="shop-1", feature="Own", complexity=3, **estimate, **{**common, "prd": "shop"}),
        Lesson(id="l1", feature="Old", surprises=("It rained",), would_change=("Take a coat",), **common),
        SpikeRecord(
            id="s1", feature="F", question="Does it fly?", approach="Wings", result="No", viable=False, **common
        ),
        DecisionRecord(id="d1", story="old-1", title="Keep it", text="Keep it small.", **common),
        DecisionRecord(
            id="d2", story="shop-1", title="Sell at once", text="Sell at once.", **{**common, "prd": "shop"}
        ),
        Pattern(id="p1", name="Small files", description="One subject.", example="src/a.py:3", **common),
        PatternUsage(id="u1", pattern="p1", path="src/a.py", compliance=40, prd="old", at="2026-01-01T00:00:00Z"),
        PatternUsage(id="u2", pattern="p1", path="src/a.py", compliance=80, **common),
        PatternUsage(id="u3", pattern="p1", path="src/b.py", compliance=100, **common),
    )
    docs = worked(tree).docs()
    assert "**Lesson.** Use a queue" in docs["FAILURES"] and "- Next time: Take a coat" in docs["FAILURES"]
    assert "| `old-1` Old | 3 | 10.0 | 5.0 | 4 | 6 |" in docs["ESTIMATES"]
    assert "| `shop-1` Sell | 3 | 10.0 | 5.0 | 4 | 6 |" in docs["ESTIMATES"], "as recorded with the story"
    assert docs["ESTIMATES"].count("| `shop-1` ") == 1, "not listed a second time from its own records"
    assert "Does it fly?" in docs["DECISIONS"] and "- `old-1.1` Keep it small.\n" in docs["DECISIONS"]
    assert docs["DECISIONS"].count("Sell at once") == 1
    assert "- Compliance: 90 % in 2 files." in docs["PATTERNS"]
    assert "- Lowest in: `src/a.py` (80 %)" in docs["PATTERNS"]


def test_damaged_records_are_reported_and_skipped(tree: LivingTree) -> None:
    worked(tree).put(
        {
            ".orch-state/memory/failures/bad.json": "{",
            ".orch-state/memory/failures/newer.json": '{"schema_version": 99}',
            ".orch-state/memory/unknown/x.json": "{}",
            ".orch-state/prds/gone/prd.json": "[]",
            ".orch-state/prds/shop/pipeline/security.json": "{",
            ".orch-state/prds/shop/tdd/evidence/shop-1/2-red.json": "null",
        }
    )
    problems = "\n".join(tree.render().problems)
    assert "bad.json" in problems and "newer" in problems and "gone/prd.json" in problems and "security" in problems
    assert "`shop-1`" in tree.docs()["CHANGELOG"]


def test_risks_of_the_security_role(tree: LivingTree) -> None:
    worked(tree).put(
        {
            ".orch-state/prds/shop/pipeline/security.json": '{"output": {"risks": '
            '[{"what": "Replay", "severity": "low"}, '
            '{"story": "shop-2", "what": "Leak", "severity": "critical", "required_test": {"text": "Hide it"}}, 3]}}',
        }
    )
    text = tree.docs()["SECURITY_REVIEW"]
    assert text.index("| Leak | critical | shop-2 | Hide it |") < text.index("| Replay | low | shop |  |")
    tree.put({".orch-state/prds/shop/pipeline/security.json": '{"output": {"risks": []}}'})
    assert "SECURITY_REVIEW" not in tree.docs(), "no risks were reported"


def test_what_the_deployment_role_said_is_in_the_documents_about_operations(tree: LivingTree) -> None:
    said = (
        '{"output": {"infrastructure": ["A Redis for sessions"], "routing": ["/points moves to port 8443"], '
        '"pipeline": ["Run the migration before the rollout"], "rollback": '
        '["Restore the snapshot; points of the day are lost"], "questions": []}}'
    )
    worked(tree).put({".orch-state/prds/shop/pipeline/deployment.json": said})
    docs = tree.docs()
    assert "A Redis for sessions" in docs["INFRASTRUCTURE"]
    assert "port 8443" in docs["ROUTING"]
    assert "Run the migration before the rollout" in docs["CI_CD"] and "Run the migration" in docs["DEPLOYMENT"]
    for name in ("DEPLOYMENT", "RUNBOOK"):
        assert "Restore the snapshot" in docs[name]
    assert "does not say how to roll back" not in docs["DEPLOYMENT"]


# --- allowed locations ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directory", ["tests/docs", "tests", ".github", ".orch-state", ".git", "../x", "/x", "a//b"])
def test_no_document_is_written_where_tests_tools_or_git_read(directory: str) -> None:
    assert list_living_paths(directory) == ()


def test_documents_can_be_at_the_root() -> None:
    assert "ARCHITECTURE.md" in list_living_paths(".") and len(list_living_paths(".")) == 16
    assert list_living_paths("./docs/")[-1] == "docs/.gitattributes", "at the root it would affect all files"
    assert list_living_paths("docs", PathRules(protected=("docs",))) == ()
    assert list_living_paths("docs", PathRules(tests=("docs",))) == ()
    assert len(list_living_paths("docs", PathRules(source=(".",)))) == 19


def test_links_unusual_modes_and_case_variants_are_not_touched(tree: LivingTree) -> None:
    from prd2pr.state.git import BlobRef

    blob = tree.git.write_blob(b"../elsewhere")
    tree.put({"docs/architecture.md": "mine\n"})
    odd = {"docs/ROUTING.md": BlobRef(blob, "120000"), "docs/RUNBOOK.md": BlobRef(blob, "100755")}
    tree.tree = tree.git.edit_tree(tree.tree, odd)
    rendered = tree.render()
    left = {each.document.name: each.problem for each in rendered.documents if each.word == "left alone"}
    assert set(left) == {"ARCHITECTURE", "ROUTING", "RUNBOOK"}
    assert "docs/architecture.md differs only in case" in left["ARCHITECTURE"]
    tree.tree = tree.git.edit_tree(tree.git.empty_tree, {"docs": BlobRef(blob, "120000")})
    assert tree.render().files == {}


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_documents_stay_readable_for_three_thousand_files(tree: LivingTree) -> None:
    text = '"""Module {n}."""\nfrom p{p} import m{m}\n\n\ndef f{n}(a):\n    return a\n'
    tree.put({f"src/p{n % 60}/m{n}.py": text.format(n=n, p=(n + 1) % 60, m=(n + 1) % 3000) for n in range(3000)})
    cold, warm = tree.render(), tree.render()
    assert cold.files == warm.files
    sizes = {path: len(data) for path, data in cold.files.items()}
    assert max(sizes.values()) < 200_000, sizes
    shown = cold.files["docs/CODEBASE_MAP.md"].decode()
    assert "and 2,600 files more" in shown and len(shown.splitlines()) < 1500
    assert check_diagrams(cold.files["docs/ARCHITECTURE.md"].decode()) == 1
