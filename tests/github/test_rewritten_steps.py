"""Rebased steps are not called verified, and nothing is spent on top of them."""

from __future__ import annotations

import pytest

from fakes.github.events import pushed


def rebase(world) -> str:
    """Rebase the branch onto the newest base, as a person would."""
    git, at = world._git, str(world.bare.path)
    git("fetch", "-q", at, world.branch)
    git("checkout", "-q", "--detach", "FETCH_HEAD")
    before = git("rev-parse", "HEAD")
    git("fetch", "-q", at, "main:refs/x/main")
    git("-c", "user.name=wendy", "-c", "user.email=wendy@example.org", "rebase", "-q", "refs/x/main")
    git("push", "-q", "-f", at, f"HEAD:refs/heads/{world.branch}")
    pushed(world.fake, world.repo, "wendy", world.branch, before, git("rev-parse", "HEAD"))
    return before


@pytest.mark.slow
def test_rebased_steps_are_shown_as_unverified_before_anything_is_spent(started):
    number = started.pull().number
    started.comment(number, "/tdd next\n/tdd next\n/tdd next", by="wendy")
    assert started.act().status == 0
    started.push({"docs/x.md": "x\n"}, "ada")
    last = rebase(started)
    started.pending.clear()
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().outputs["outcome"] == "waiting"
    said = started.status_comment().body
    assert f"Push {last[:10]} again" in said and "status comment" not in said, "from there nothing could go on"

    started.delete_comment(started.status_comment().id)
    started.pending.clear()
    phases = started.phases()
    for text in ("/tdd next", "/tdd run"):
        started.comment(number, text, by="wendy")
        acted = started.act()
        assert (acted.status, acted.outputs["outcome"]) == (1, "blocked"), acted.output
        assert "steps were rewritten" in started.answers()[-1].body
        said, page = started.status_comment().body, started.pull().body
        for claim in ("1 of 2 stories done", "3 of 3 gates passed", "1 of 1 gate passed"):
            assert claim not in said and claim not in page
        assert "of 6 steps as proved" in said and "a rebase does not" in said
    assert started.phases() == phases

    started.bare.git("update-ref", f"refs/heads/{started.branch}", last)
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases()[-1] == "integrated(calc-1)"
    assert "1 of 2 stories done" in started.status_comment().body
