"""Issues and sub-issues."""

from __future__ import annotations

from typing import Any

from prd2pr.domain.forge import Issue, LabelEvent
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import check_response, has_marker, patch_call, post_call, with_marker
from prd2pr.github.client.exchange import ApiResponse
from prd2pr.github.client.repeatable import edit_differences, ensure_marked, find_text_changes
from prd2pr.github.client.repository import RepositoryCalls


class IssueCalls(RepositoryCalls):
    def issue(self, number: int) -> Issue | None:
        found = self.api.get_optional(self.api.path("issues", number))
        return None if found is None else json_reader.read_issue(found)

    def issues_labelled(self, label: str) -> tuple[Issue, ...]:
        """Return the open issues with this label, oldest first. GitHub also lists pull requests, which are left out."""
        found = self.api.pages(self.api.path("issues"), labels=label, state="open", sort="created", direction="asc")
        return tuple(each for each in map(json_reader.read_issue, found) if not each.is_pull)

    def last_labelling(self, number: int, label: str) -> LabelEvent | None:
        """Return who last added this label to the issue and when, or None if GitHub does not report it.

        Other events have no label, and events by a deleted account have no actor.
        """
        given = [
            each
            for each in self.api.pages(self.api.path("issues", number, "events"))
            if each.get("event") == "labeled" and _label_name(each.get("label")).casefold() == label.casefold()
        ]
        if not given or not given[-1].get("actor"):
            return None
        return LabelEvent(
            json_reader.read_actor(given[-1]["actor"]), str(given[-1].get("created_at") or ""), again=len(given) > 1
        )

    def find_issue(self, marker: str) -> Issue | None:
        """Return our issue with this marker in its body."""
        return self._close_duplicates(self._list_marked_issues(marker))

    def _list_marked_issues(self, marker: str) -> tuple[Issue, ...]:
        """List our open and closed issues with this marker, oldest first."""
        there: list[Issue] = []
        for actor in self.ours():
            order = {"sort": "created", "direction": "asc"}
            found = self.api.pages(self.api.path("issues"), creator=actor.login, state="all", **order)
            written = (each for each in map(json_reader.read_issue, found) if each.author.id == actor.id)
            there += [each for each in written if not each.is_pull and has_marker(each.body, marker)]
        return tuple(sorted(there, key=lambda each: each.number))

    def _close_duplicates(self, there: tuple[Issue, ...]) -> Issue | None:
        """Return the oldest issue and close the others, which parallel runs have created.

        Only admins can delete issues.
        """
        for twin in there[1:]:
            if twin.open:
                self._close_issue(twin.number)
        return there[0] if there else None

    def _close_issue(self, number: int) -> None:
        address = self.api.path("issues", number)

        def closed() -> bool | None:
            return None if json_reader.read_issue(self.api.get(address)).open else True

        call = patch_call(address, {"state": "closed", "state_reason": "not_planned"})
        self.api.create_or_find(call, closed, lambda _: True)

    def open_issue(self, title: str, body: str, labels: tuple[str, ...], *, marker: str) -> Issue:
        text = with_marker(self.clean(body), marker)
        wanted = {"title": self.secrets.scrub(title), "body": text, "labels": list(labels)}
        return ensure_marked(
            self.api,
            post_call(self.api.path("issues"), wanted),
            lambda: self._list_marked_issues(marker),
            self._close_duplicates,
            json_reader.read_issue,
        )

    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        closed: bool | None = None,
        planned: bool = True,
    ) -> None:
        """Change the fields that differ. An issue that is closed with `planned=False` is shown as not planned."""
        address = self.api.path("issues", number)

        def missing() -> dict[str, Any]:
            there = json_reader.read_issue(self.api.get(address))
            changes = find_text_changes(there, title, None if body is None else self.clean(body), self.secrets)
            if closed is not None and closed is there.open:
                changes["state"] = "closed" if closed else "open"
                if closed and not planned:
                    changes["state_reason"] = "not_planned"
            return changes

        edit_differences(self.api, address, missing)

    def sub_issues(self, number: int) -> tuple[Issue, ...]:
        return tuple(map(json_reader.read_issue, self.api.pages(self.api.path("issues", number, "sub_issues"))))

    def add_sub_issue(self, number: int, child: Issue) -> None:
        def there() -> bool | None:
            return True if any(each.id == child.id for each in self.sub_issues(number)) else None

        if there():
            return
        call = post_call(self.api.path("issues", number, "sub_issues"), {"sub_issue_id": child.id})
        done = self.api.send_checked(call, there)
        # Another run may have added it first: ignore the error if the child is listed now.
        if isinstance(done, ApiResponse) and not (done.status == 422 and there()):
            check_response(call, done)


def _label_name(label: dict[str, Any] | None) -> str:
    return str((label or {}).get("name") or "")
