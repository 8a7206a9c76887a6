"""Every answer that says no, as application/problem+json: what, why, and what to do."""

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
MOST_FIELDS = 20
OUT_OF_REACH = (OperationalError, InterfaceError, NoConnection)

# What each status means here, in the description of the API.
MEANINGS: dict[int, str] = {
    401: "No token was sent, or it does not hold (any more).",
    403: "The token may see this, and its scope does not reach for what was asked.",
    404: "It is not there, or this token may not see it.",
    409: "As things stand there is nothing to do, or the key was used for another request.",
    413: "The body is too large.",
    422: "A part of the request is wrong; `errors` says which.",
    429: "Too much at once; `Retry-After` says when to ask again.",
    503: "The server is not ready, or its database does not do its part.",
}
REMEDIES: dict[int, str] = {
    401: "Send `Authorization: Bearer …` with a token from `prd2pr serve token create`.",
    405: "See /openapi.json for what each path takes.",
    404: "See /openapi.json for what there is.",
}


class Denied(Exception):
    """A request that is not answered with what it asked for."""

    def __init__(self, status: int, detail: str, *, remedy: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.remedy = remedy or REMEDIES.get(status, "")
        self.headers = dict(headers or {})


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the API's description."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": MEANINGS[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses
    }


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(
        problem.model_dump(mode="json"), status_code=problem.status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


def titled(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


async def on_denied(_: Request, error: Exception) -> Response:
    assert isinstance(error, Denied)
    problem = Problem(title=titled(error.status), status=error.status, detail=error.detail, remedy=error.remedy)
    headers = {"WWW-Authenticate": 'Bearer realm="prd2pr"', **error.headers} if error.status == 401 else error.headers
    return answer(problem, headers)


async def on_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "There is nothing here." if error.status_code == 404 else str(error.detail)
    remedy = REMEDIES.get(error.status_code, "")
    return answer(
        Problem(title=titled(error.status_code), status=error.status_code, detail=detail, remedy=remedy), error.headers
    )


async def on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = tuple(
        WrongField(where=".".join(str(part) for part in each["loc"])[:200], what=str(each["msg"])[:300])
        for each in error.errors()[:MOST_FIELDS]
    )
    return answer(
        Problem(
            title=titled(422),
            status=422,
            detail="A part of the request is wrong.",
            remedy="See /openapi.json for what it takes.",
            errors=wrong,
        )
    )


async def on_database(request: Request, error: Exception) -> Response:
    """It is away, or its disk is full. That passes, and whoever asked may come again."""
    said = getattr(error, "orig", None) or error
    LOG.error("the database did not do its part: %s", said, extra={"path": request.url.path[:200]})
    problem = Problem(
        title=titled(503),
        status=503,
        detail="The server's database does not do its part.",
        remedy="Ask again in a moment. The server's log has the details.",
    )
    return answer(problem, {"Retry-After": "5"})


async def on_bug(request: Request, error: Exception) -> Response:
    """The process's edge: told to the log, and to nobody else."""
    LOG.error("a request failed", exc_info=error, extra={"path": request.url.path[:200], "method": request.method})
    return answer(
        Problem(
            title=titled(500),
            status=500,
            detail="This is a bug in prd2pr, not in what you asked.",
            remedy="The server's log has the details.",
        )
    )


def add_problems(app: FastAPI) -> None:
    app.add_exception_handler(Denied, on_denied)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)
    for kind in OUT_OF_REACH:
        app.add_exception_handler(kind, on_database)
    app.add_exception_handler(Exception, on_bug)
