"""The hub over the real githubkit, against the fake GitHub: looks before it creates, and creates nothing twice."""

from __future__ import annotations

import pytest
from github_hubs import BOT, BRANCH, REPOSITORY, World

from fakes.github import transport
from fakes.github.faults import Calls, Refused
from fakes.github.on_issues import add_comment
from fakes.github.on_pulls import open_pull
from prd2pr.domain.forge import Actor, Annotation, CheckRun, Label
from prd2pr.errors import (
    BadCredentials,
    HubProblem,
    NotFoundThere,
    PullsNotAllowed,
    ScopeMissing,
    TextTooLong,
    UsageProblem,
)
from prd2pr.github.client.errors import PULLS_SETTING_REMEDY
from prd2pr.github.client.factory import check_repository_name, open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import StaticToken

MARK = "<!-- prd2pr:answer:7:0 -->"


def check(github: World, **changed) -> CheckRun:
    sha = github.bare.heads()[BRANCH]
    plain = {
        "key": "loyalty/1/red",
        "name": "red",
        "sha": sha,
        "conclusion": "success",
        "title": "9 fail",
        "summary": "s",
    }
    return CheckRun(**{**plain, **changed})


def notes(count: int) -> tuple[Annotation, ...]:
    return tuple(Annotation("b.txt", line, "warning", f"m{line}", "t") for line in range(1, count + 1))


# --- identity ---------------------------------------------------------------------------------------------------------


def test_the_workflow_token_belongs_to_github_actions(github: World):
    assert github.hub().me() == Actor("github-actions[bot]", 41898282, bot=True)


def test_a_personal_token_belongs_to_the_person(github: World):
    me = github.hub(StaticToken(github.fake.user_token("wendy"))).me()
    assert (me.login, me.bot) == ("wendy", False)


def test_a_token_minted_by_another_step_belongs_to_the_named_bot(github: World):
    app = github.fake.add_app("builder", "octo", "key")
    token = github.fake.installation_token(github.fake.install(app, [REPOSITORY])).value
    me = github.hub(StaticToken(token, "builder[bot]")).me()
    assert me == Actor("builder[bot]", github.fake.user("builder[bot]").id, bot=True)


def test_a_token_minted_by_another_step_belongs_to_its_app(github: World):
    """As from `actions/create-github-app-token`, which passes only the token."""
    app = github.fake.add_app("builder", "octo", "key")
    token = github.fake.installation_token(github.fake.install(app, [REPOSITORY])).value
    me = github.hub(StaticToken(token)).me()
    assert me == Actor("builder[bot]", github.fake.user("builder[bot]").id, bot=True)


def test_the_identity_is_requested_only_once(github: World):
    hub = github.hub()
    hub.me(), hub.me()
    assert len(github.fake.asked("POST /graphql")) == 1


@pytest.mark.parametrize(
    ("login", "level"),
    [
        ("ada", "admin"),
        ("max", "maintain"),
        ("wendy", "write"),
        ("tria", "triage"),
        ("rea", "read"),
        ("stranger", "none"),
    ],
)
def test_the_permission_level_of_each_person(github: World, login: str, level: str):
    github.repo.private = True
    github.fake.add_user("outsider")
    assert github.hub().permission(login) == level


def test_a_name_that_looks_like_a_path_leads_nowhere_else(github: World):
    assert github.hub().permission("ada/permission?x=") == "none"
    assert github.fake.calls[-1].path == "/repos/octo/calc/collaborators/ada%2Fpermission%3Fx%3D/permission"


@pytest.mark.parametrize("name", ["octo", "octo/..", "../x", "octo/calc/issues", "", "octo/ca lc", "a/b\n"])
def test_only_a_repository_name_is_accepted(github: World, name: str):
    with pytest.raises(UsageProblem):
        open_hub(name, token=StaticToken("x"), transport=transport(github.fake))


def test_owners_may_contain_an_underscore():
    """As those of enterprise-managed users do."""
    assert check_repository_name("ada_corp/calc") == "ada_corp/calc"


def test_the_default_branch(github: World):
    assert github.hub().default_branch() == "main"


# --- comments ---------------------------------------------------------------------------------------------------------


def test_a_comment_is_posted_once(github: World):
    hub, number = github.hub(), github.ask()
    first = hub.comment(number, f"{MARK} Hello", marker=MARK)
    second = hub.comment(number, f"{MARK} Hello again", marker=MARK)
    assert first.id == second.id and second.body == f"{MARK} Hello"
    assert first.author == BOT
    assert [each.body for each in hub.comments(number)] == [f"{MARK} Hello"]


def test_a_body_without_its_marker_gets_it(github: World):
    hub, number = github.hub(), github.ask()
    assert hub.comment(number, "Hello", marker=MARK).body.startswith(MARK)


def test_another_persons_comment_with_the_marker_is_not_ours(github: World):
    hub, number = github.hub(), github.ask()
    github.say(number, f"{MARK} I know your", by="rea")
    assert hub.find_comment(number, MARK) is None
    assert hub.comment(number, f"{MARK} Ours", marker=MARK).author == BOT


def test_concurrent_runs_keep_one_comment_and_both_use_it(github: World):
    number, other = github.ask(), []
    create_first = Calls(before=lambda: other.append(github.hub().comment(number, f"{MARK} Theirs", marker=MARK)))
    github.fake.faults.add(create_first, "POST */comments")
    mine = github.hub().comment(number, f"{MARK} Mine", marker=MARK)
    assert [each.body for each in github.hub().comments(number)] == [f"{MARK} Theirs"]
    assert mine.id == other[0].id


def test_a_duplicate_left_by_a_killed_run_is_removed(github: World):
    number = github.ask()
    for body in (f"{MARK} one", "<!-- other --> x", f"{MARK} two", f"A file:\n```\n{MARK}\n```"):
        add_comment(github.fake, github.repo, number, BOT.login, body)
    add_comment(github.fake, github.repo, number, "rea", f"{MARK} mine")
    found = github.hub().find_comment(number, MARK)
    assert found is not None and found.body == f"{MARK} one"
    left = [each.body for each in github.hub().comments(number)]
    assert left == [f"{MARK} one", "<!-- other --> x", f"A file:\n```\n{MARK}\n```", f"{MARK} mine"]


def test_a_text_that_quotes_the_marker_is_not_ours(github: World):
    number = github.ask()
    add_comment(github.fake, github.repo, number, BOT.login, f"What the test printed:\n```\n{MARK}\n```")
    assert github.hub().find_comment(number, MARK) is None
    assert len(github.hub().comments(number)) == 1


def test_comments_after_the_cursor_come_in_order_over_all_pages(github: World):
    hub, number = github.hub(), github.ask()
    ids = [add_comment(github.fake, github.repo, number, "ada", f"word {at}").id for at in range(105)]
    assert [each.id for each in hub.comments(number)] == ids
    assert [each.id for each in hub.comments(number, ids[101])] == ids[102:]


def test_an_edited_comment_is_marked_as_edited(github: World):
    number = github.ask()
    comment = github.say(number, "/tdd next")
    assert not github.hub().comments(number)[0].edited
    github.fake.skip(5)
    github.hub(StaticToken(github.fake.user_token("ada"))).edit_comment(comment, "/tdd run")
    assert github.hub().comments(number)[0].edited


def test_a_comment_is_edited_only_if_it_differs(github: World):
    hub, number = github.hub(), github.ask()
    comment = hub.comment(number, f"{MARK} One", marker=MARK)
    hub.edit_comment(comment.id, f"{MARK} One\r\n")
    assert github.fake.asked("PATCH *") == []
    hub.edit_comment(comment.id, f"{MARK} Two")
    assert hub.comments(number)[0].body == f"{MARK} Two"


def test_a_deleted_comment_cannot_be_edited(github: World):
    with pytest.raises(NotFoundThere):
        github.hub().edit_comment(999_999, "x")


def test_a_text_over_the_limit_is_not_sent(github: World):
    hub, number = github.hub(), github.ask()
    before = github.writes()
    with pytest.raises(TextTooLong, match="65,537 characters"):
        hub.comment(number, MARK + "x" * (65_537 - len(MARK)), marker=MARK)
    assert github.writes() == before
    assert hub.comment(number, MARK + "x" * (65_536 - len(MARK)), marker=MARK).id


def test_a_reaction_is_added_once(github: World):
    hub, number = github.hub(), github.ask()
    comment = github.say(number, "/tdd next")
    for _ in range(2):
        hub.react(comment, "eyes")
    assert [(each.content, each.user) for each in github.repo.comments[comment].reactions] == [("eyes", BOT.login)]


def test_a_reaction_to_a_deleted_comment_is_no_error(github: World):
    github.hub().react(999_999, "eyes")
    assert github.writes()[-1].endswith("/issues/comments/999999/reactions")


# --- issues -----------------------------------------------------------------------------------------------------------


def test_an_issue_is_opened_once_and_found_by_its_marker(github: World):
    hub = github.hub()
    one = hub.open_issue("Tracking", f"{MARK} Board", ("prd2pr",), marker=MARK)
    two = hub.open_issue("Tracking", f"{MARK} Other", ("prd2pr",), marker=MARK)
    assert one == two == hub.find_issue(MARK)
    assert one.labels == ("prd2pr",) and one.open and one.id != one.number
    assert len([each for each in github.repo.issues.values() if each.pull is None]) == 1


def test_of_two_issues_opened_at_once_the_later_is_closed(github: World):
    other = []
    create_first = Calls(before=lambda: other.append(github.hub().open_issue("Theirs", MARK, (), marker=MARK)))
    github.fake.faults.add(create_first, "POST */issues")
    mine = github.hub().open_issue("Mine", MARK, (), marker=MARK)
    assert mine.number == other[0].number
    assert [(each.title, each.state, each.state_reason) for each in github.repo.issues.values()] == [
        ("Theirs", "open", None),
        ("Mine", "closed", "not_planned"),
    ]
    assert github.hub().find_issue(MARK) == mine


def test_another_persons_issue_with_the_marker_is_not_ours(github: World):
    github.ask(f"{MARK} copy of")
    assert github.hub().find_issue(MARK) is None


def test_an_issue_is_changed_only_if_it_differs(github: World):
    hub, number = github.hub(), github.ask("Title")
    before = len(github.writes())
    hub.edit_issue(number, title="Title", closed=False)
    assert len(github.writes()) == before
    hub.edit_issue(number, title="Other", body="New", closed=True)
    there = hub.issue(number)
    assert there is not None
    assert (there.title, there.body, there.open) == ("Other", "New", False)
    hub.edit_issue(number, closed=False)
    assert github.repo.issues[number].state == "open"


def test_labelled_issues_are_open_and_not_pull_requests(github: World):
    hub = github.hub()
    first, second, closed = (github.ask(title) for title in ("a", "b", "c"))
    pull = hub.open_pull("P", "b", BRANCH, "main", draft=True)
    for number in (second, first, closed, pull.number):
        hub.set_labels(number, (Label("prd2pr"),), ())
    hub.edit_issue(closed, closed=True)
    assert [each.number for each in hub.issues_labelled("prd2pr")] == [first, second]
    there = hub.issue(pull.number)
    assert there is not None and there.is_pull


def test_a_missing_issue_is_none(github: World):
    hub = github.hub()
    assert (hub.issue(77), hub.pull(77), hub.pull_for_branch("no-such")) == (None, None, None)


def test_a_sub_issue_is_added_once(github: World):
    hub, parent, child = github.hub(), github.ask("p"), github.ask("c")
    there = hub.issue(child)
    assert there is not None
    hub.add_sub_issue(parent, there)
    hub.add_sub_issue(parent, there)
    assert [each.number for each in hub.sub_issues(parent)] == [child]


# --- pull requests ----------------------------------------------------------------------------------------------------


def test_a_pull_request_is_opened_once(github: World):
    hub = github.hub()
    one = hub.open_pull("T", "B", BRANCH, "main", draft=True)
    two = hub.open_pull("Other", "B", BRANCH, "main", draft=True)
    assert one.number == two.number and two.title == "T"
    assert (one.head, one.base, one.draft, one.open, one.from_fork) == (BRANCH, "main", True, True, False)
    assert one.head_sha == github.bare.heads()[BRANCH] and one.author == BOT
    assert len(github.fake.asked("POST */pulls")) == 1


def test_the_open_pull_request_precedes_newer_closed_ones(github: World):
    hub = github.hub()
    first = hub.open_pull("one", "b", BRANCH, "main", draft=False)
    hub.edit_issue(first.number, closed=True)
    assert hub.pull_for_branch(BRANCH) == hub.pull(first.number)
    second = hub.open_pull("two", "b", BRANCH, "main", draft=False)
    hub.edit_issue(second.number, closed=True)
    found = hub.pull_for_branch(BRANCH)
    assert found is not None and found.number == second.number and not found.open


def test_a_forks_branch_of_the_same_name_is_another(github: World):
    github.fake.add_user("mallory")
    github.fake.add_fork(REPOSITORY, "mallory")
    token = StaticToken(github.fake.user_token("mallory"))
    with github.hub(token) as mallory:
        forked = mallory.open_pull("mine", "b", f"mallory:{BRANCH}", "main", draft=False)
    assert forked.from_fork
    assert github.hub().pull_for_branch(BRANCH) is None


def test_another_run_opens_it_between_look_and_creation(github: World):
    def create_first() -> None:
        github.hub().open_pull("quicker", "b", BRANCH, "main", draft=True)

    github.fake.faults.add(Calls(before=create_first), "POST */pulls")
    assert github.hub().open_pull("slower", "b", BRANCH, "main", draft=True).title == "quicker"


def foreign_pull(github: World, base: str = "main"):
    github.fake.add_user("mallory")
    with github.fake.lock:
        return open_pull(github.fake, github.repo, "mallory", "Mine", "", BRANCH, base)


def test_an_outsiders_pull_request_is_not_ours_and_is_named_if_in_the_way(github: World):
    foreign = foreign_pull(github)
    hub = github.hub()
    assert hub.pull_for_branch(BRANCH) is None
    with pytest.raises(HubProblem) as raised:
        hub.open_pull("T", "B", BRANCH, "main", draft=True)
    assert f"opened #{foreign.number} from {BRANCH} into main" in str(raised.value)
    assert "mallory" in str(raised.value)
    assert f"Close #{foreign.number}" in raised.value.remedy
    hub.edit_issue(foreign.number, closed=True)
    ours = hub.open_pull("T", "B", BRANCH, "main", draft=True)
    assert (ours.author, hub.pull_for_branch(BRANCH)) == (BOT, hub.pull(ours.number))


def test_a_writer_may_open_it_for_us(github: World):
    foreign = foreign_pull(github)
    github.repo.collaborators["mallory"] = "write"
    found = github.hub().pull_for_branch(BRANCH)
    assert found is not None and found.number == foreign.number


def test_our_own_needs_no_permission_check_and_another_base_is_another(github: World):
    hub = github.hub()
    ours = hub.open_pull("T", "B", BRANCH, "main", draft=True)
    github.bare.git("branch", "release", "main")
    foreign = foreign_pull(github, "release")
    github.repo.collaborators["mallory"] = "admin"
    found = hub.pull_for_branch(BRANCH)
    assert found is not None and found.number == ours.number
    assert github.fake.asked("GET */collaborators/*") == []
    there = hub.pull_for_branch(BRANCH, "release")
    assert there is not None and there.number == foreign.number


def test_an_app_continues_the_pull_request_of_the_workflow_token(github: World):
    ours = github.hub().open_pull("T", "B", BRANCH, "main", draft=True)
    found = as_app(github).pull_for_branch(BRANCH)
    assert found is not None and found.number == ours.number


def test_an_app_continues_the_comments_of_the_workflow_token_but_no_copies(github: World):
    number = github.ask()
    before = github.hub()
    forged = github.say(number, f"{MARK}\nmine", by="rea")
    first = before.comment(number, "one", marker=MARK)
    issue = before.open_issue("T", "B", (), marker=MARK)
    before.check(check(github))
    later = as_app(github)
    assert later.comment(number, "two", marker=MARK).id == first.id
    assert later.open_issue("T", "B", (), marker=MARK).number == issue.number
    later.edit_comment(first.id, f"{MARK}\nchanged")
    later.check(check(github))
    assert len(github.repo.checks) == 1
    later.check(check(github, conclusion="neutral"))
    later.check(check(github, conclusion="neutral"))
    assert [row.conclusion for row in github.repo.checks.values()] == ["success", "neutral"]
    told = {row.id: row.body for row in github.repo.comments.values() if row.number == number}
    assert told == {forged: f"{MARK}\nmine", first.id: f"{MARK}\nchanged"}


def test_a_comment_that_an_app_may_not_edit_is_posted_again_once(github: World):
    number = github.ask()
    first = github.hub().comment(number, "one", marker=MARK)
    later, said = as_app(github), []
    later._log = said.append
    github.fake.faults.add(Refused(403, "Resource not accessible by integration"), "PATCH */issues/comments/*")
    github.fake.faults.add(Refused(403, "Resource not accessible by integration"), "DELETE */issues/comments/*")
    later.edit_comment(first.id, f"{MARK}\ntwo")
    anew = later.find_comment(number, MARK)
    assert anew is not None and anew.id != first.id and anew.body == f"{MARK}\ntwo"
    later.edit_comment(anew.id, f"{MARK}\nthree")
    assert len(said) == 1


def as_app(github: World) -> GitHubHub:
    app = github.fake.add_app("builder", "octo", "key")
    token = github.fake.installation_token(github.fake.install(app, [REPOSITORY])).value
    return github.hub(StaticToken(token, "builder[bot]"))


def test_an_ordinary_pull_request_is_opened_if_drafts_are_unsupported(github: World):
    github.repo.drafts = False
    assert not github.hub().open_pull("t", "b", BRANCH, "main", draft=True).draft


def test_a_pull_request_is_edited_only_if_it_differs(github: World):
    hub = github.hub()
    pull = hub.open_pull("T", "B", BRANCH, "main", draft=False)
    hub.edit_pull(pull, title="T", body="B\n")
    assert github.fake.asked("PATCH *") == []
    hub.edit_pull(pull, body="C")
    there = hub.pull(pull.number)
    assert there is not None and (there.title, there.body) == ("T", "C")


def test_draft_and_ready(github: World):
    hub = github.hub()
    pull = hub.open_pull("T", "B", BRANCH, "main", draft=True)
    for draft in (True, False, False, True):
        hub.set_draft(pull, draft=draft)
        there = hub.pull(pull.number)
        assert there is not None and there.draft is draft
    assert len(github.fake.asked("POST /graphql")) == 2


# --- labels and checks ------------------------------------------------------------------------------------------------


def test_labels_are_corrected_and_others_left_alone(github: World):
    hub, number = github.hub(), github.ask()
    hub.set_labels(number, (Label("people's"), Label("prd2pr:active", "00ff00", "at work")), ())
    among = ("prd2pr:active", "prd2pr:done", "prd2pr:waiting")
    hub.set_labels(number, (Label("prd2pr:done"),), among)
    assert sorted(github.repo.issues[number].labels) == ["people's", "prd2pr:done"]
    before = len(github.writes())
    hub.set_labels(number, (Label("PRD2PR:done"),), among)
    assert len(github.writes()) == before


def test_another_run_creates_the_label_between_look_and_creation(github: World):
    number, other = github.ask("one"), github.ask("other")
    create_first = Calls(before=lambda: github.hub().set_labels(other, (Label("prd2pr:done"),), ()))
    github.fake.faults.add(create_first, "POST */calc/labels")
    github.hub().set_labels(number, (Label("prd2pr:done"),), ())
    assert github.repo.issues[number].labels == ["prd2pr:done"]


def test_a_check_is_created_once_and_updated(github: World):
    hub = github.hub()
    hub.check(check(github))
    hub.check(check(github))
    assert len(github.repo.checks) == 1
    assert github.fake.asked("PATCH *") == []
    hub.check(check(github, conclusion="failure", title="1 fails"))
    (there,) = github.repo.checks.values()
    assert (there.conclusion, there.title, there.external_id) == ("failure", "1 fails", "loyalty/1/red")
    hub.check(check(github, key="loyalty/2/red"))
    assert len(github.repo.checks) == 2


def test_more_annotations_than_one_request_takes(github: World):
    hub = github.hub()
    hub.check(check(github, annotations=notes(120)))
    hub.check(check(github, annotations=notes(120)))
    (there,) = github.repo.checks.values()
    assert [each["start_line"] for each in there.annotations] == list(range(1, 121))


def test_a_new_title_does_not_send_the_annotations_again(github: World):
    hub = github.hub()
    hub.check(check(github, annotations=notes(60)))
    hub.check(check(github, annotations=notes(60), title="8 fail"))
    (there,) = github.repo.checks.values()
    assert there.title == "8 fail" and len(there.annotations) == 60


def test_annotations_of_a_killed_run_are_completed(github: World):
    hub = github.hub()
    hub.check(check(github, annotations=notes(50)))
    hub.check(check(github, annotations=notes(70)))
    (there,) = github.repo.checks.values()
    assert [each["start_line"] for each in there.annotations] == list(range(1, 71))


def test_a_personal_token_sets_a_status_instead(github: World):
    hub = github.hub(StaticToken(github.fake.user_token("wendy")))
    hub.check(check(github))
    hub.check(check(github))
    assert [(each.context, each.state, each.description) for each in github.repo.statuses] == [
        ("red", "success", "9 fail")
    ]


# --- problems ---------------------------------------------------------------------------------------------------------


def test_actions_may_not_open_pull_requests(github: World):
    github.repo.actions_may_open_pulls = False
    with pytest.raises(PullsNotAllowed) as caught:
        github.hub().open_pull("t", "b", BRANCH, "main", draft=True)
    assert caught.value.remedy == PULLS_SETTING_REMEDY


@pytest.mark.parametrize(
    ("act", "line"),
    [
        (lambda hub, number: hub.comment(number, "x", marker="x"), "issues: write"),
        (lambda hub, number: hub.open_pull("t", "b", BRANCH, "main", draft=False), "pull-requests: write"),
        (lambda hub, number: hub.set_labels(number, (Label("bug"),), ()), "issues: write"),
    ],
)
def test_a_missing_permission_is_named(github: World, act, line: str):
    number = github.ask()
    reads = {"issues": "read", "pull_requests": "read", "checks": "read", "contents": "read"}
    hub = github.hub(StaticToken(github.fake.actions_token(REPOSITORY, reads)))
    with pytest.raises(ScopeMissing, match=line):
        act(hub, number)


def test_a_missing_permission_for_checks_is_named(github: World):
    hub = github.hub(StaticToken(github.fake.actions_token(REPOSITORY, {"checks": "read"})))
    with pytest.raises(ScopeMissing, match="checks: write"):
        hub.check(check(github))


def test_an_unknown_token_is_named_and_not_retried(github: World):
    with pytest.raises(BadCredentials):
        github.hub(StaticToken("ghs_nonsense")).default_branch()
    assert len(github.fake.calls) == 1


# --- over a socket ----------------------------------------------------------------------------------------------------


def test_the_same_over_loopback(github: World):
    number = github.ask()
    with github.served() as hub:
        pull = hub.open_pull("T", "B", BRANCH, "main", draft=True)
        hub.set_draft(pull, draft=False)
        comment = hub.comment(number, f"{MARK} Hello", marker=MARK)
        hub.react(comment.id, "eyes")
        hub.check(check(github))
        assert hub.comments(number) == (comment,)
        there = hub.pull(pull.number)
        assert there is not None and not there.draft
