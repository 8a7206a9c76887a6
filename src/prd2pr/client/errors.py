"""Errors that the clients raise.

ApiError                     the server could not be reached, or refused the request
├── Unreachable              no response: connection refused, lost or timed out
├── NotUnderstood            an unexpected response, for example a proxy's page
└── Refused                  an error response; `problem` contains the details
    ├── NotSignedIn          401  the token is missing, invalid, expired or revoked
    ├── NotAllowed           403  the token's scope does not cover the request
    ├── NotFound             404  the subject does not exist, or the token may not see it
    ├── Conflict             409  there is nothing to do in the current state
    ├── Invalid              413, 422  the request is invalid
    ├── TooMany              429  too many requests; `retry_after` is the time to wait
    └── ServerTrouble        5xx  the server failed
"""

from __future__ import annotations

from prd2pr.client.models import Problem


class ApiError(Exception):
    pass


class Unreachable(ApiError):
    pass


class NotUnderstood(ApiError):
    pass


class Refused(ApiError):
    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        parts = (problem.detail or problem.title, *(f"{each.where}: {each.what}" for each in problem.errors))
        remedy = f" ({problem.remedy})" if problem.remedy else ""
        super().__init__("; ".join(parts) + remedy)
        self.problem = problem
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        return self.problem.status


class NotSignedIn(Refused):
    pass


class NotAllowed(Refused):
    pass


class NotFound(Refused):
    pass


class Conflict(Refused):
    pass


class Invalid(Refused):
    pass


class TooMany(Refused):
    pass


class ServerTrouble(Refused):
    pass


BY_STATUS: dict[int, type[Refused]] = {
    401: NotSignedIn,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    422: Invalid,
    429: TooMany,
}


def make_refusal(problem: Problem, retry_after: float | None = None) -> Refused:
    kind = BY_STATUS.get(problem.status, ServerTrouble if problem.status >= 500 else Refused)
    return kind(problem, retry_after)
