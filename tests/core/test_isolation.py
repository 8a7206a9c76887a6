"""What is said about a sandbox."""

from __future__ import annotations

from prd2pr.core.isolation import NONE, PROTECTIONS, complaint, described, missing, remedy

WHOLE = described("namespaces", PROTECTIONS)


def test_a_whole_sandbox_lacks_nothing() -> None:
    assert WHOLE == "namespaces: no network, own user, own processes, read-only, limits, call filter"
    assert (missing(WHOLE), complaint(WHOLE)) == ((), "")


def test_a_user_of_a_namespace_is_a_user_of_its_own() -> None:
    assert "own user" not in missing("namespaces: no network, own user (namespace), read-only")


def test_what_is_missing_is_named() -> None:
    partly = described("namespaces", ["no network", "limits"])
    assert missing(partly) == ("own user", "own processes", "read-only", "call filter")
    assert complaint(partly) == "the sandbox of the tests lacks: own user, own processes, read-only, call filter"


def test_none_is_none() -> None:
    assert described("namespaces", []) == NONE
    assert missing(NONE) == tuple(PROTECTIONS)
    assert complaint(NONE) == complaint("") == "the tests ran without a sandbox"


def test_a_name_alone_promises_nothing() -> None:
    assert missing("bubblewrap") == tuple(PROTECTIONS)


def test_each_refusal_has_its_remedy() -> None:
    assert "apparmor_restrict_unprivileged_userns=0" in remedy(["the user map: Operation not permitted"])
    assert "chmod" in remedy(["/opt/python cannot be read by another user"])
    assert "SYS_ADMIN" in remedy(["a process space of its own: Operation not permitted"])
    assert "on Linux" in remedy([], linux=False)
