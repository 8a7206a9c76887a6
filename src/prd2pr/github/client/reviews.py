"""Reviews of pull requests. REST does not say whether a review was edited, so they are read through GraphQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from prd2pr.domain.forge import Actor, Review, ReviewPart
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import check_response
from prd2pr.github.client.exchange import RestCall
from prd2pr.github.client.repository import RepositoryCalls

MAX_REVIEWS = 50  # the newest ones, and as many comments in each
QUERY = f"""query($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{ reviews(last: {MAX_REVIEWS}) {{ nodes {{
    databaseId state body submittedAt lastEditedAt url
    author {{ login __typename }}
    comments(first: {MAX_REVIEWS}) {{ nodes {{ body path line lastEditedAt }} }}
  }} }} }} }}
}}"""


class ReviewCalls(RepositoryCalls):
    def reviews(self, number: int, after: int = 0) -> tuple[Review, ...]:
        """Return the submitted reviews of a pull request with ids above `after`, in the order of their times."""
        variables = {"owner": self.api.owner, "name": self.api.name, "number": number}
        call = RestCall("POST", "/graphql", body={"query": QUERY, "variables": variables})
        found = check_response(call, self.api.send_checked(call, None)).body["data"]["repository"]["pullRequest"]
        rows = found["reviews"]["nodes"] if found else []
        read = (_read_review(row, number) for row in rows if row.get("submittedAt") and row.get("databaseId"))
        return tuple(sorted((each for each in read if each.id > after), key=lambda each: each.id))


def _read_review(row: dict[str, Any], number: int) -> Review:
    comments = row["comments"]["nodes"]
    return Review(
        id=_make_ordered_id(str(row["submittedAt"]), int(row["databaseId"])),
        number=number,
        author=_read_author(row.get("author")),
        body=json_reader.read_text(row.get("body")),
        created_at=str(row["submittedAt"]),
        edited=any(each.get("lastEditedAt") for each in (row, *comments)),
        url=str(row.get("url") or ""),
        parts=tuple(ReviewPart(_format_place(each), json_reader.read_text(each.get("body"))) for each in comments),
        requests_changes=row.get("state") == "CHANGES_REQUESTED",
    )


def _make_ordered_id(submitted_at: str, number: int) -> int:
    """Return a number that grows with time. GitHub's id does not: a review has it before it is submitted."""
    return int(datetime.fromisoformat(submitted_at).timestamp()) * 1000 + number % 1000


def _read_author(found: dict[str, Any] | None) -> Actor:
    """Return the author. GraphQL gives the ids of accounts only by kind, and permissions are asked by login."""
    return Actor(str(found["login"]), 0, bot=found.get("__typename") == "Bot") if found else json_reader.GHOST


def _format_place(comment: dict[str, Any]) -> str:
    line = comment.get("line")
    return f"{comment.get('path')}:{line}" if line else str(comment.get("path") or "")
