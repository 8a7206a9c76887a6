"""Error responses as `application/problem+json`, each with a remedy."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from prd2pr.client.models import Problem, WrongField

MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("prd2pr.server.api")
MAX_FIELDS = 20
DATABASE_ERRORS = (OperationalError, InterfaceError, NoConnection)

# The meaning of each status, for the OpenAPI description.
MEANINGS: dict[int, str] = {
    401: "The token is missing, invalid, expired or revoked.",
    403: "The token's scope does not cover this request.",
    404: "The subject does not exist, or the token has no access to it.",
    409: "There is nothing to do in the current state, or the key was used for another request.",
    413: "The body is too large.",
    422: "The request is invalid; `errors` lists the fields.",
    429: "Too many requests; `Retry-After` says when to retry.",
    503: "The server is not ready, or its database failed.",
}
REMEDIES: dict[int, str] = {
    401: "Send `Authorization: Bearer …` with a token from `prd2pr serve token create`.",
    405: "See /openapi.json for the methods of each path.",
    404: "See /openapi.json for the available paths.",
}


class RequestDenied(Exception):
    """A request that is refused with the given status."""

    def __init__(self, status: int, detail: str, *, remedy: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.remedy = remedy or REMEDIES.get(status, "")
        self.headers = dict(headers or {})


def document_statuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of these statuses."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": MEANINGS[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses
    }


def make_problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(
        problem.model_dump(mode="json"), status_code=problem.status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


def get_status_title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


async def handle_denied(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestDenied)
    problem = Problem(
        title=get_status_title(error.status), status=error.status, detail=error.detail, remedy=error.remedy
    )
    headers = {"WWW-Authenticate": 'Bearer realm="prd2pr"', **error.headers} if error.status == 401 else error.headers
    return make_problem_response(problem, headers)


async def handle_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "This path does not exist." if error.status_code == 404 else str(error.detail)
    remedy = REMEDIES.get(error.status_code, "")
    return make_problem_response(
        Problem(title=get_status_title(error.status_code), status=error.status_code, detail=detail, remedy=remedy),
        error.headers,
    )


async def handle_invalid_request(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = tuple(
        WrongField(where=".".join(str(part) for part in each["loc"])[:200], what=str(each["msg"])[:300])
        for each in error.errors()[:MAX_FIELDS]
    )
    return make_problem_response(
        Problem(
            title=get_status_title(422),
            status=422,
            detail="The request is invalid.",
            remedy="See /openapi.json for its parameters.",
            errors=wrong,
        )
    )


async def handle_database_error(request: Request, error: Exception) -> Response:
    """Answer 503: the database is down or its disk is full, so the client may retry."""
    cause = getattr(error, "orig", None) or error
    LOG.error("the database failed: %s", cause, extra={"path": request.url.path[:200]})
    problem = Problem(
        title=get_status_title(503),
        status=503,
        detail="The server's database failed.",
        remedy="Try again in a moment. The server's log has the details.",
    )
    return make_problem_response(problem, {"Retry-After": "5"})


async def handle_bug(request: Request, error: Exception) -> Response:
    """Log an unexpected error without revealing details to the client."""
    LOG.error("a request failed", exc_info=error, extra={"path": request.url.path[:200], "method": request.method})
    return make_problem_response(
        Problem(
            title=get_status_title(500),
            status=500,
            detail="Internal error: this is a bug in prd2pr, not in the request.",
            remedy="The server's log has the details.",
        )
    )


def add_problem_handlers(app: FastAPI) -> None:
    app.add_exception_handler(RequestDenied, handle_denied)
    app.add_exception_handler(HTTPException, handle_http_error)
    app.add_exception_handler(RequestValidationError, handle_invalid_request)
    for kind in DATABASE_ERRORS:
        app.add_exception_handler(kind, handle_database_error)
    app.add_exception_handler(Exception, handle_bug)
