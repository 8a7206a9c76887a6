"""A run that the App's server has started: it looks through everything, as a scheduled one does, and besides where
something was said that no branch tells of. Who said it is asked for each comment and label, as ever."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.events import Said, Stirred
from prd2pr.core.hub import Issue
from prd2pr.core.said.text_digest import text_digest
from prd2pr.flows.host import Host
from prd2pr.flows.subjects import (
    About,
    Nobodys,
    Subject,
    forgotten,
    issue_subject,
    may_label,
    said_under,
    subject_under_way,
    under_way,
    why_not_wanted,
)


def stirred(host: Host, event: Stirred) -> Iterator[About]:
    known: set[str] = set()
    for about in (*under_way(host), *forgotten(host)):
        if isinstance(about, Subject):
            known.add(about.id)
        yield about
    for prd in dict.fromkeys(each.prd for each in event.orders if each.prd not in known):
        known.add(prd)
        yield subject_under_way(prd)  # merged, or never begun: whoever ordered it is told
    for number in dict.fromkeys(each.number for each in event.said):
        found = under(host, number, [each for each in event.said if each.number == number])
        if found is not None and not (isinstance(found, Subject) and found.id in known):
            yield found


def under(host: Host, number: int, said: list[Said]) -> About | None:
    issue = host.hub.issue(number)
    if issue is None:
        return None
    about = said_under(host, number, on_pull=issue.is_pull)
    if not isinstance(about, Nobodys):
        return about
    as_now = [each for each in said if each.digest == text_digest(issue.title, issue.body)]
    if as_now and not issue.is_pull and not why_not_wanted(host, issue) and labelled_by_one_who_may(host, issue):
        return issue_subject(host, issue)
    return Nobodys(number, frozenset(each.comment for each in as_now))


def labelled_by_one_who_may(host: Host, issue: Issue) -> bool:
    given = host.hub.label_given(issue.number, host.config.labels.trigger)
    return given is not None and may_label(host, given.by)
