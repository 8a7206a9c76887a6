"""API calls for comments and reactions."""

from __future__ import annotations

from prd2pr.domain.forge import BotIdentities, Comment, Reaction, is_same_text
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import check_response, has_marker, patch_call, post_call, with_marker
from prd2pr.github.client.exchange import ApiResponse
from prd2pr.github.client.repeatable import ensure_marked
from prd2pr.github.client.repository import RepositoryCalls


class CommentCalls(RepositoryCalls):
    def comments(self, number: int, after: int = 0) -> tuple[Comment, ...]:
        """Return the comments with ids above `after`, ordered by id."""
        rows = self.api.pages(self.api.path("issues", number, "comments"))
        found = (json_reader.read_comment(each, number) for each in rows)
        return tuple(sorted((each for each in found if each.id > after), key=lambda each: each.id))

    def find_comment(self, number: int, marker: str) -> Comment | None:
        """Return our comment with this marker."""
        return self._keep_first(self._list_marked_comments(self.ours(), number, marker))

    def _list_marked_comments(self, ours: BotIdentities, number: int, marker: str) -> tuple[Comment, ...]:
        """List our comments with this marker: first those of the current account, which it can edit, then by age."""
        names = [actor.id for actor in ours]
        there = [each for each in self.comments(number) if each.author.id in names and has_marker(each.body, marker)]
        return tuple(sorted(there, key=lambda each: (names.index(each.author.id), each.id)))

    def _keep_first(self, there: tuple[Comment, ...]) -> Comment | None:
        """Return the first comment and delete the others, which parallel runs have posted."""
        for twin in there[1:]:
            self.api.delete(self.api.path("issues", "comments", twin.id))
        return there[0] if there else None

    def comment(self, number: int, body: str, *, marker: str) -> Comment:
        """Post a comment, unless we already have one with this marker, and return it."""
        return self._ensure_comment(self.ours(), number, self.clean(body), marker)

    def _ensure_comment(self, ours: BotIdentities, number: int, body: str, marker: str) -> Comment:
        return ensure_marked(
            self.api,
            post_call(self.api.path("issues", number, "comments"), {"body": with_marker(body, marker)}),
            lambda: self._list_marked_comments(ours, number, marker),
            self._keep_first,
            lambda found: json_reader.read_comment(found, number),
        )

    def edit_comment(self, comment: int, body: str) -> None:
        """Edit a comment, or post a new one if the current account may not edit it."""
        address, body = self.api.path("issues", "comments", comment), self.clean(body)

        def there() -> bool | None:
            return True if is_same_text(json_reader.read_text(self.api.get(address).get("body")), body) else None

        if there():
            return
        call = patch_call(address, {"body": body})
        done = self.api.send_checked(call, there)
        if not isinstance(done, ApiResponse):
            return
        if done.status == 403:
            found, me = self.api.get(address), self.me()
            if json_reader.read_actor(found.get("user")).id != me.id:
                number = int(str(found["issue_url"]).rpartition("/")[2])
                self._ensure_comment((me,), number, body, body.lstrip().splitlines()[0])
                self._log(
                    "GitHub does not allow editing a comment of the previous bot account, so a new comment was posted"
                )
                return
        check_response(call, done)

    def has_reaction(self, comment: int, reaction: Reaction) -> bool:
        """Return whether one of our accounts has added this reaction to the comment."""
        address = self.api.path("issues", "comments", comment, "reactions")
        return self._has_reaction_by(self.ours(), address, reaction)

    def _has_reaction_by(self, actors: BotIdentities, address: str, reaction: Reaction) -> bool:
        ids = {actor.id for actor in actors}
        found = self.api.pages(address, content=reaction)
        return any(json_reader.read_actor(each.get("user")).id in ids for each in found)

    def react(self, comment: int, reaction: Reaction) -> None:
        """Add a reaction to the comment, unless the comment was deleted."""
        me, address = self.me(), self.api.path("issues", "comments", comment, "reactions")
        call = post_call(address, {"content": reaction})
        done = self.api.send_checked(call, lambda: self._has_reaction_by((me,), address, reaction) or None)
        if isinstance(done, ApiResponse) and done.status not in {404, 410}:
            check_response(call, done)
