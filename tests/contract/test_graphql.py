"""GraphQL requests, and what the fake knows of them, against GitHub's own schema."""

from __future__ import annotations

from typing import Any

import pytest

from contract.fake_requests import HEAD, call_api, new_pull
from contract.graphql_schema import GraphqlContract
from contract.tour import R
from fakes.github import FakeGitHub, transport
from fakes.github.graphql_text import NotGraphQL, parse
from prd2pr.github.client.commits import UPDATE_REFS
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.tokens import StaticToken

COMMIT = """mutation($input: CreateCommitOnBranchInput!) {
  createCommitOnBranch(input: $input) {
    commit { oid url message tree { oid } } ref { name target { oid } } clientMutationId
  }
}"""
DRAFT = """mutation($id: ID!) {
  convertPullRequestToDraft(input: {pullRequestId: $id}) {
    pullRequest { id number isDraft title state url } clientMutationId
  }
}"""


def commit_input(fake: FakeGitHub) -> dict[str, Any]:
    return {
        "branch": {"repositoryNameWithOwner": "octo/calc", "branchName": HEAD},
        "expectedHeadOid": fake.bare(fake.repo("octo/calc")).heads()[HEAD],
        "message": {"headline": "Add", "body": "Tdd-Step: 2"},
        "fileChanges": {"additions": [{"path": "b.py", "contents": "QiA9IDIK"}], "deletions": [{"path": "README.md"}]},
    }


def move_input(fake: FakeGitHub) -> dict[str, Any]:
    repo = fake.repo("octo/calc")
    main = fake.bare(repo).heads()["main"]
    update = {"name": "refs/heads/main", "beforeOid": main, "afterOid": main, "force": False}
    return {"repositoryId": f"R_{repo.id}", "refUpdates": [update]}


def test_everything_that_the_fake_knows_is_in_githubs_schema(graphql: GraphqlContract, fake: FakeGitHub) -> None:
    pull = call_api(fake, "POST", f"{R}/pulls", new_pull()).value["node_id"]
    ready = DRAFT.replace("convertPullRequestToDraft", "markPullRequestReadyForReview")
    asked = (
        {"query": COMMIT, "variables": {"input": commit_input(fake)}},
        {"query": DRAFT, "variables": {"id": pull}},
        {"query": UPDATE_REFS, "variables": {"input": move_input(fake)}},
        {"query": ready, "variables": {"id": pull}},
        {"query": "query { viewer { login databaseId id } }"},
    )
    for body in asked:
        outcome = call_api(fake, "POST", "/graphql", body).value
        assert "errors" not in outcome, outcome
    assert fake.violations == []
    assert graphql.problems(fake.exchanges) == []


def test_the_client_uses_only_githubs_schema(graphql: GraphqlContract, fake: FakeGitHub) -> None:
    token = StaticToken(fake.actions_token("octo/calc"))
    with open_hub("octo/calc", token=token, transport=transport(fake)) as hub:
        pull = hub.open_pull("Calc", "Body", HEAD, "main", draft=True)
        hub.set_draft(pull, draft=False)
        opened = hub.pull(pull.number)
        assert opened is not None
        fake.repo("octo/calc").auto_merge, fake.repo("octo/calc").required_checks = True, ["tests"]
        hub.enable_auto_merge(opened, "rebase")
        hub.set_draft(opened, draft=True)
    assert len(fake.asked("POST /graphql")) == 3
    assert graphql.problems(fake.exchanges) == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("mutation { convertPullRequestToSoup(input: {}) { clientMutationId } }", "has no field"),
        ("mutation { convertPullRequestToDraft(input: {}) { clientMutationId } }", "wants pullRequestId"),
        (
            'mutation { convertPullRequestToDraft(input: {pullRequestId: "x", a: 1}) { clientMutationId } }',
            "takes no a",
        ),
        ("{ viewer { shoeSize } }", "User has no field shoeSize"),
        ("{ viewer }", "does not fit"),
        ("{ viewer { login { x } } }", "does not fit"),
    ],
)
def test_a_wrong_query_is_detected(graphql: GraphqlContract, query: str, words: str) -> None:
    assert any(words in why for why in graphql.judge({"query": query}))


@pytest.mark.parametrize(
    "text", ["", "mutation {", "{ a ", "subscription { a }", "{ a(b: $c) }", "{ a } { b }", "{ % }"]
)
def test_text_that_is_not_graphql_is_refused(text: str) -> None:
    with pytest.raises(NotGraphQL):
        parse(text, {})


def test_aliases_lists_and_comments_are_parsed() -> None:
    read = parse('# c\nquery Q($n: Int = 3) { one: a(b: [1, "two", $n], c: {d: E, f: null}) { g, h } }', {"n": 5})
    [one] = read.fields
    assert (one.alias, one.name) == ("one", "a")
    assert one.arguments == {"b": [1, "two", 5], "c": {"d": "E", "f": None}}
    assert [each.name for each in one.selection] == ["g", "h"]
