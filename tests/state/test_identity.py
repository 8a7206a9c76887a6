"""Who commits: the local user or the bot's account, and the trailers that name others."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd2pr.errors import IdentityMissing
from prd2pr.state.commit_message import append_trailer, read_trailers, split_message
from prd2pr.state.git import Git
from prd2pr.state.identity import Identity, make_account_identity


def test_local_user_is_author_and_committer(git: Git, first: str) -> None:
    commit = git.commit(git.tree(first), [first], "red(a-1): it fails\n")
    assert git.commit_info(commit).author == "Ada <ada@example.org>"
    assert git.user_name() == "Ada"


def test_without_identity_the_error_says_how_to_set_it(git: Git, first: str, own_home: Path) -> None:
    (own_home / ".gitconfig").unlink()
    with pytest.raises(IdentityMissing) as caught:
        git.commit(git.tree(first), [first], "red(a-1): it fails\n")
    assert "git config --global user.name" in caught.value.remedy


@pytest.mark.parametrize(
    ("login", "account", "server", "email"),
    [
        ("prd2pr[bot]", 77, "https://github.com", "77+prd2pr[bot]@users.noreply.github.com"),
        (
            "github-actions[bot]",
            41898282,
            "https://github.com",
            "41898282+github-actions[bot]@users.noreply.github.com",
        ),
        ("prd2pr[bot]", 7, "https://git.example.com:8443", "7+prd2pr[bot]@users.noreply.git.example.com"),
    ],
)
def test_account_has_its_noreply_address(login: str, account: int, server: str, email: str) -> None:
    assert make_account_identity(login, account, server) == Identity(login, email)


def test_on_github_the_account_is_author_even_if_git_knows_a_user(git: Git, first: str) -> None:
    git.committer.account = lambda: make_account_identity("prd2pr[bot]", 77, "https://github.com")
    commit = git.commit(git.tree(first), [first], "red(a-1): it fails\n")
    assert git.commit_info(commit).author == "prd2pr[bot] <77+prd2pr[bot]@users.noreply.github.com>"
    assert git.user_name() == "prd2pr"


def test_sign_off_joins_the_trailers(git: Git, first: str) -> None:
    git.committer.signs_off = True
    commit = git.commit(git.tree(first), [first], "red(a-1): it fails\n\nWhy.\n\nTdd-Phase: red\n")
    trailers = git.commit_info(commit).trailers
    assert trailers == {"Tdd-Phase": ("red",), "Signed-off-by": ("Ada <ada@example.org>",)}


@pytest.mark.parametrize("message", ["Subject\n", "Subject\n\nA body.\n", "Subject\n\nA body.\n\nA-Key: value\n"])
def test_appended_trailer_is_read_again(message: str) -> None:
    text = append_trailer(message, "Signed-off-by", "Ada <ada@example.org>")
    assert read_trailers(split_message(text)[1])["Signed-off-by"] == ("Ada <ada@example.org>",)
    assert text.startswith(message.rstrip("\n"))
