"""Make the pictures of the README from real runs: `make pictures`.

docs/images/check.svg  what `prd2pr check` prints about a branch with weak tests, built here on the demo's shop
docs/images/board.png  the demo's pull request page, if Chromium is installed
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SHOP = ROOT / "templates" / "demo" / "repo"
WIDTH = 118

SOURCE = '''\
"""Vouchers."""

from shop.money import Money


def apply_voucher(total: Money, percent: int) -> Money:
    if percent > 50:
        raise ValueError("at most 50 per cent")
    return total - total.percent(percent)
'''
WEAK_TESTS = """\
from shop.discount import apply_voucher
from shop.money import Money


def test_a_voucher_is_applied():
    assert apply_voucher(Money.of(40), 10) is not None


def test_a_voucher_is_limited():
    try:
        assert apply_voucher(Money.of(40), 90) == Money.of(4)
    except Exception:
        pass
"""
WEAKENED = ("assert cart.total == Money.of(41)", "assert cart.total")

# Like rich's own format, but without fonts from elsewhere.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        draw_check(Path(place))
        if browser := shutil.which("chromium"):
            draw_board(Path(place), browser)
        else:
            sys.stderr.write("chromium is not installed: docs/images/board.png is not made\n")
    return 0


def draw_check(place: Path) -> None:
    shop = make_weak_branch(place / "shop")
    command = ["prd2pr", "check", "--base", "main"]
    env = {key: value for key, value in os.environ.items() if key not in {"CI", "NO_COLOR"}}
    # On a terminal of its own, where it uses color.
    run = ["script", "--quiet", "--command", shlex.join([sys.executable, "-m", *command]), "/dev/null"]
    shown = subprocess.run(
        run, cwd=shop, env={**env, "COLUMNS": str(WIDTH), "TERM": "xterm"}, capture_output=True, text=True, check=False
    )
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ {' '.join(command)}", style="bold"))
    console.print(Text.from_ansi(shown.stdout.replace("\r\n", "\n").strip()))
    (IMAGES / "check.svg").write_text(console.export_svg(title="prd2pr check", code_format=SVG, unique_id="check"))


def make_weak_branch(shop: Path) -> Path:
    """Copy the shop and add a branch on which an agent wrote tests that prove little."""
    shutil.copytree(SHOP, shop)
    run_git(shop, "init", "--quiet", "--initial-branch=main")
    for key, value in {"user.name": "Agent", "user.email": "agent@example.com", "commit.gpgSign": "false"}.items():
        run_git(shop, "config", key, value)
    commit(shop, "A small shop")
    run_git(shop, "switch", "--quiet", "--create", "vouchers")
    (shop / "src/shop/discount.py").write_text(SOURCE)
    (shop / "tests/test_discount.py").write_text(WEAK_TESTS)
    cart = shop / "tests/test_cart.py"
    cart.write_text(cart.read_text().replace(*WEAKENED))
    commit(shop, "Add vouchers")
    return shop


def commit(shop: Path, message: str) -> None:
    run_git(shop, "add", "--all")
    run_git(shop, "commit", "--quiet", "--message", message)


def run_git(shop: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=shop, check=True)


def draw_board(place: Path, browser: str) -> None:
    demo = place / "demo"
    subprocess.run([sys.executable, "-m", "prd2pr", "demo", "--dir", demo], check=True, stdout=subprocess.DEVNULL)
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser).new_page(viewport={"width": 900, "height": 800})
        page.goto((demo / ".git/prd2pr/pr/loyalty.html").as_uri())
        page.locator("#board").screenshot(path=IMAGES / "board.png")


if __name__ == "__main__":
    sys.exit(main())
