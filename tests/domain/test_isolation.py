"""Reports about a sandbox's isolation."""

from __future__ import annotations

from prd2pr.domain.results.isolation import (
    NONE,
    PROTECTIONS,
    describe_missing_protections,
    describe_risks,
    format_sandbox,
    list_missing_protections,
    suggest_sandbox_remedy,
)

WHOLE = format_sandbox("namespaces", PROTECTIONS)


def test_complete_sandbox_lacks_nothing() -> None:
    assert WHOLE == "namespaces: no network, own user, own processes, read-only, limits, call filter"
    assert (list_missing_protections(WHOLE), describe_missing_protections(WHOLE)) == ((), "")


def test_namespace_user_counts_as_separate_user() -> None:
    assert "own user" not in list_missing_protections(format_sandbox("namespaces", ["own user (namespace)", "limits"]))


def test_missing_parts_are_named() -> None:
    partly = format_sandbox("namespaces", ["no network", "limits"])
    missing = list_missing_protections(partly)
    assert missing == ("own user", "own processes", "read-only", "call filter")
    told = describe_missing_protections(partly)
    assert told.startswith(f"the sandbox of the tests lacks: {', '.join(missing)}; a test could ")
    assert told.endswith(describe_risks(missing))
    assert "network" not in told


def test_no_sandbox_is_reported_as_none() -> None:
    assert format_sandbox("namespaces", []) == NONE
    assert list_missing_protections(NONE) == tuple(PROTECTIONS)
    told = describe_missing_protections(NONE)
    assert told == describe_missing_protections("")
    assert told.startswith("the tests ran without a sandbox; a test could ")
    assert "use the network" in told


def test_sandbox_name_alone_promises_nothing() -> None:
    assert list_missing_protections("bubblewrap") == tuple(PROTECTIONS)


def test_each_refusal_has_its_remedy() -> None:
    assert "apparmor_restrict_unprivileged_userns=0" in suggest_sandbox_remedy(
        ["the user map: Operation not permitted"]
    )
    assert "chmod" in suggest_sandbox_remedy(["/opt/python cannot be read by another user"])
    assert "SYS_ADMIN" in suggest_sandbox_remedy(["a separate process namespace: Operation not permitted"])
    assert "on Linux" in suggest_sandbox_remedy([], linux=False)
