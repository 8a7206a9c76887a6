from __future__ import annotations

import pytest

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import PathRules, classify_path, promote

BY_CONVENTION = {
    PathKind.TEST: (
        "tests/test_points.py tests/helpers.py tests/conftest.py tests/golden/bill.txt test/data/x.json "
        "src/shop/tests/test_cart.py src/shop/test_cart.py src/shop/cart_test.py test_flat.py web/cart.snap "
        "tests/data/old.pyc "
        "tests/fixtures/sample/pyproject.toml tests/tdd/loyalty-1/test_earn.py tests/data/readme.md tests/Makefile "
        "golden/bill.txt fixtures/cart.json tests/data/.npmrc testdata/x.json "
        "tests/fixtures/repo/CODEOWNERS src/shop/testdata/x.json snapshots/page.html"
    ),
    PathKind.TEST_CONFIG: (
        "pytest.ini .pytest.ini pyproject.toml setup.cfg tox.ini noxfile.py .coveragerc conftest.py "
        "src/shop/conftest.py sitecustomize.py src/usercustomize.py evil.pth pytest.py .cargo/config.toml "
        "web/.cargo/config .cargo/credentials.toml tests/pytest.py "
        "_pytest/reports.py src/sitecustomize/__init__.py usercustomize/hook.py "
        "src/unittest/__init__.py tests/pytest.ini tests/tdd/s-1/pyproject.toml tests/sitecustomize.py"
    ),
    PathKind.MANIFEST: (
        "requirements.txt requirements-dev.txt requirements/base.txt setup.py uv.lock poetry.lock Pipfile package.json"
    ),
    PathKind.CI: (
        ".github/workflows/ci.yml .github/CODEOWNERS .github/actions/x/action.yml "
        "Makefile .gitlab-ci.yml Jenkinsfile .circleci/config.yml azure-pipelines.yml "
        "scripts/test.sh scripts/run-tests.sh bin/ci tools/lint run_tests.sh scripts/run_tests.py "
        "config/mypy.ini ruff.toml .flake8"
    ),
    PathKind.DOCS: "docs/guide.md README.md CHANGELOG.rst LICENSE docs/conf.py",
    PathKind.STATE: ".orch-state/project.json .orch-state/prds/x/status.json",
    PathKind.PROTECTED: (
        ".prd2pr.yml .gitattributes sub/.gitattributes .gitmodules .claude/settings.json CLAUDE.md AGENTS.md "
        "src/AGENTS.md "
        ".cursorrules .cursor/rules.md .githooks/pre-commit evil-1.0.dist-info/entry_points.txt shop.egg-link "
        "src/shop/engine.pyc shop/fast.cpython-311-x86_64-linux-gnu.so shop/fast.pyd tests/helper.pyc shop/data/x.so "
        ".github/copilot-instructions.md src/shop/__pycache__/cart.cpython-311.pyc tests/__pycache__/test_x.pyc "
        ".npmrc web/.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml bunfig.toml pip.conf .pypirc uv.toml "
        "poetry.toml .netrc tests/.npmrc CODEOWNERS docs/CODEOWNERS action.yml check/action.yaml .vscode/tasks.json "
        "web/.vscode/settings.json .devcontainer/devcontainer.json .idea/workspace.xml .envrc shop.code-workspace "
        ".husky/pre-commit lefthook.yml .lfsconfig .mvn/extensions.xml .yarn/releases/yarn.cjs .gemini/settings.json"
    ),
    PathKind.SOURCE: (
        "src/shop/cart.py shop.py shop/templates/bill.html src/shop/py.typed shop/contest.py src/latest/x.py "
        "shop/fixtures/initial.json fixtures/factory.py golden/__init__.py bin/shop scripts/deploy.sh "
        "tools/checkout.sh tools/check_links.py scripts/verify.py run_tests.py src/shop/sitecustomize/x.py"
    ),
    PathKind.OTHER: ".gitignore .editorconfig notes.csv",
}


@pytest.mark.parametrize(
    ("kind", "path"), [(kind, path) for kind, paths in BY_CONVENTION.items() for path in paths.split()]
)
def test_convention(kind: PathKind, path: str) -> None:
    assert classify_path(path) is kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("lib/shop/test/bench.py", PathKind.SOURCE),
        ("lib/shop/test/test_bench.py", PathKind.TEST),
        ("lib/shop/conftest.py", PathKind.TEST_CONFIG),
        ("checks/cart.py", PathKind.TEST),
        ("checks/conftest.py", PathKind.TEST),
        ("elsewhere/cart.py", PathKind.OTHER),
        ("lib/shop/rates.json", PathKind.PROTECTED),
        ("lib/shop/deep/rates.json", PathKind.PROTECTED),
        ("library/cart.py", PathKind.OTHER),
    ],
)
def test_configured_roots_and_globs_override_convention_but_not_test_config(path: str, kind: PathKind) -> None:
    rules = PathRules(source=("lib/",), tests=("checks",), protected=("lib/**/rates.json",))
    assert classify_path(path, rules) is kind


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("tests/tdd/s-1/test_a.py", "tests/unit/s-1/test_a.py"),
        ("tests/tdd/s-1/integration/test_b.py", "tests/integration/s-1/test_b.py"),
        ("tests/tdd/s-1/data/golden.txt", "tests/unit/s-1/data/golden.txt"),
        ("tests/tdd/s-10/test_a.py", "tests/tdd/s-10/test_a.py"),
        ("tests/test_old.py", "tests/test_old.py"),
    ],
)
def test_promotion(path: str, new: str) -> None:
    assert promote(path, "s-1") == new
