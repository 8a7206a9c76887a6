"""Calls with patience: reading calls are repeated, writing ones only after a look at whether they were done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from prd2pr.errors import HubProblem
from prd2pr.forges.github.exchange import Answer, Call, Send, path
from prd2pr.forges.github.problems import recognise, too_long
from prd2pr.forges.github.retry import Again, GiveUp, LookFirst, Patience, Retry, Take, judge

T = TypeVar("T")

PAGE = 100
NEXT_PAGE = re.compile(r'rel="next"')


def no_word() -> None:
    """For callers that need not know when a call is sent."""


class Wire:
    """Speaks of one repository. `send` is the real client's, or a test's."""

    def __init__(self, send: Send, repository: str, patience: Patience) -> None:
        self.owner, _, self.name = repository.partition("/")
        self.repository = repository
        self._send = send
        self._patience = patience

    def at(self, *parts: str | int) -> str:
        """An address below the repository's."""
        return path("repos", self.owner, self.name) + path(*parts)

    # --- reading ------------------------------------------------------------------------------------------------------

    def get(self, address: str, **params: str | int) -> Any:
        call = Call("GET", address, params)
        return good(call, self._read(call)).body

    def find(self, address: str, **params: str | int) -> Any | None:
        """None where there is nothing."""
        call = Call("GET", address, params)
        answer = self._read(call)
        return None if answer.status in {404, 410} else good(call, answer).body

    def answer(self, address: str, **params: str | int) -> Answer:
        """Whatever it is, for callers to whom a refusal, or what is not in the body, says something."""
        return self._read(Call("GET", address, params))

    def pages(self, address: str, key: str = "", **params: str | int) -> Iterator[dict[str, Any]]:
        """Every item. `key` is where the items are, in answers that are not a plain list.

        The next page's address is made here: the answer's `link` only says whether there is one.
        """
        number, more = 1, True
        while more:
            call = Call("GET", address, {**params, "per_page": PAGE, "page": number})
            answer = good(call, self._read(call))
            yield from (answer.body[key] if key else answer.body)
            more = NEXT_PAGE.search(answer.headers.get("link", "")) is not None
            number += 1

    def _read(self, call: Call) -> Answer:
        for attempt in range(1, self._patience.tries + 1):
            verdict = judge(call, self._send(call), attempt, self._patience)
            if isinstance(verdict, Take):
                return verdict.answer
            self._wait(verdict, attempt)
        raise AssertionError("the last try is given up")

    # --- writing ------------------------------------------------------------------------------------------------------

    def make(self, call: Call, look: Callable[[], T | None], read: Callable[[Any], T]) -> T:
        """What the call makes, or what `look` finds that it has made, where its answer was lost."""
        done = self.attempt(call, look)
        return read(good(call, done).body) if isinstance(done, Answer) else done

    def attempt(self, call: Call, look: Callable[[], T | None], before: Callable[[], None] = no_word) -> Answer | T:
        """The answer as it is, a refusal too; or what `look` found. `before` is told of each sending, and may raise."""
        for attempt in range(1, self._patience.tries + 1):
            before()
            verdict = judge(call, self._send(call), attempt, self._patience)
            if isinstance(verdict, Take):
                return verdict.answer
            self._wait(verdict, attempt)
            found = self._look_twice(look, attempt) if isinstance(verdict, LookFirst) else None
            if found is not None:
                return found
        raise AssertionError("the last try is given up")

    def _look_twice(self, look: Callable[[], T | None], attempt: int) -> T | None:
        """A read just after a write may be answered from before it: only the second "nothing" is believed."""
        found = look()
        if found is None:
            self._patience.sleep(self._patience.backoff(attempt))
            found = look()
        return found

    def remove(self, address: str) -> None:
        """What is gone already is as wanted; what this token may not take away stays, and is nobody's problem."""
        call = Call("DELETE", address)
        done = self.attempt(call, lambda: True if self.find(address) is None else None)
        if isinstance(done, Answer) and done.status not in {403, 404, 410}:
            good(call, done)

    def repeat(self, call: Call) -> Any:
        """For writing calls whose repetition makes nothing twice: objects named by their content."""
        for attempt in range(1, self._patience.tries + 1):
            verdict = judge(call, self._send(call), attempt, self._patience)
            if isinstance(verdict, Take):
                return good(call, verdict.answer).body
            self._wait(verdict, attempt)
        raise AssertionError("the last try is given up")

    def _wait(self, verdict: Again | LookFirst | GiveUp, attempt: int) -> None:
        if isinstance(verdict, GiveUp):
            raise verdict.problem
        self._patience.on_retry(Retry(verdict.why, verdict.seconds, attempt, self._patience.tries))
        self._patience.sleep(verdict.seconds)


def good(call: Call, answer: Answer) -> Answer:
    """The answer of a call that was carried out. GraphQL answers 200 even when it refuses."""
    if not 200 <= answer.status < 300:
        raise recognise(call, answer)
    if call.path == "/graphql" and isinstance(answer.body, dict) and answer.body.get("errors"):
        raise recognise(call, Answer(_graphql_status(answer.body["errors"]), answer.headers, answer.body))
    return answer


GRAPHQL_STATUS = {"FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMITED": 429, "RATE_LIMIT": 429, "UNPROCESSABLE": 422}


def _graphql_status(errors: Any) -> int:
    kind = errors[0].get("type") if isinstance(errors, list) and errors and isinstance(errors[0], dict) else ""
    return GRAPHQL_STATUS.get(str(kind), 422)


def posting(address: str, body: Mapping[str, Any]) -> Call:
    return Call("POST", address, body=fitting(address, body))


def changing(address: str, body: Mapping[str, Any]) -> Call:
    return Call("PATCH", address, body=fitting(address, body))


def fitting(address: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    problem: HubProblem | None = too_long(address, str(body.get("body") or ""))
    if problem is not None:
        raise problem
    return body


def is_marked(body: str, marker: str) -> bool:
    """By its beginning: further down, in a quoted file or in a test's output, anybody's text may hold our marks."""
    return body.lstrip().startswith(marker)


def with_marker(body: str, marker: str) -> str:
    """What does not hold its marker could not be found again, and would be made twice."""
    return body if is_marked(body, marker) else f"{marker}\n{body}"
