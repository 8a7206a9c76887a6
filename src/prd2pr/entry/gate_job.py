"""The gate job of the workflow: is this event for prd2pr, and from somebody who may ask? Then it is acknowledged.

It runs straight from the Action's source (`python3 -I gate_job.py`) with the standard library alone, so it answers
within seconds and needs no installation. It asks for the least that any command needs; the worker judges each one for
itself. Outsiders get neither a reaction nor a worker.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # -I leaves neither the directory of the script nor the current one on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from prd2pr.core.hub import LEVELS
from prd2pr.core.issue_ids import issue_prd_id
from prd2pr.core.said.markers import prd_of_marker
from prd2pr.entry.door import ignored

# A comment may hold a reading command, for which triage is enough; a label starts work.
LEAST = {"issue_comment": "triage", "issues": "write"}
CONFIG = ".prd2pr.yml"
USUAL_LABEL, USUAL_PREFIX = "prd2pr", "prd2pr/"  # unless the configuration says otherwise
TRIES = 4
LONGEST_WAIT = 20.0
PASSING_TROUBLE = (429, 500, 502, 503, 504)
PRD_ID = re.compile(r"[A-Za-z0-9._-]+")


class Decision(NamedTuple):
    go: bool
    reason: str
    acknowledge: str = ""  # path of the reactions of the comment or issue
    prd: str = ""  # which PRD it is about, where that is cheap to know: its runs wait for one another


class ApiTrouble(Exception):
    """The code host did not answer, or not with what was asked for."""


def main() -> int:
    try:
        decision = decide()
        if decision.acknowledge:
            acknowledge(decision.acknowledge)
    except ApiTrouble as trouble:
        say(f"::error title=prd2pr::the gate could not ask who may command: {trouble}")
        return 1
    say(f"prd2pr: {'go' if decision.go else 'nothing to do'}: {decision.reason}")
    put("go", "true" if decision.go else "false")
    put("reason", decision.reason)
    put("prd", decision.prd)
    return 0


def decide() -> Decision:
    if reason := ignored():
        return Decision(go=False, reason=reason)
    name = os.environ.get("GITHUB_EVENT_NAME", "")
    if name not in LEAST:
        return Decision(go=True, reason=f"{name or 'no event'} is for the worker to judge")
    event = read_payload()
    subject = part(event, "comment") if name == "issue_comment" else event
    person = part(subject, "user" if name == "issue_comment" else "sender")
    login = str(person.get("login") or "")
    if person.get("type") == "Bot" or login.endswith("[bot]"):
        return Decision(go=False, reason="a bot gives no commands")
    if name == "issues" and not may_be_ours(str(part(event, "label").get("name") or "")):
        return Decision(go=False, reason="this label starts nothing")
    level = level_of(login)
    if LEVELS.index(level) < LEVELS.index(LEAST[name]):
        return Decision(go=False, reason=f"the author's permission is {level}, and {LEAST[name]} is needed")
    return Decision(
        go=True, reason=f"{login} may ask", acknowledge=reactions_path(name, event), prd=prd_of(part(event, "issue"))
    )


def prd_of(issue: dict[str, Any]) -> str:
    """For the worker's concurrency group alone: whose work it really is about, the worker finds out by itself."""
    number = issue.get("number")
    try:
        if part(issue, "pull_request"):
            found = of_branch(part(call("GET", f"{repository()}/pulls/{number}", missing={}), "head"))
        else:
            found = prd_of_marker(str(issue.get("body") or "")) or issue_prd_id(int(str(number)))
    except (ApiTrouble, ValueError):
        return ""  # then it waits for what is said in the same place
    return found if PRD_ID.fullmatch(found) else ""


def of_branch(head: dict[str, Any]) -> str:
    branch = str(head.get("ref") or "")
    if branch.startswith(USUAL_PREFIX):
        return branch.removeprefix(USUAL_PREFIX)
    config = text_of(call("GET", f"{repository()}/contents/{CONFIG}", missing={}))
    set_there = re.search(r"^branch_prefix:\s*[\"']?([^\s\"'#]+)", config, re.MULTILINE)
    return branch.removeprefix(set_there[1]) if set_there and branch.startswith(set_there[1]) else ""


def read_payload() -> dict[str, Any]:
    try:
        found = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
    except (KeyError, OSError, ValueError, RecursionError) as problem:
        raise ApiTrouble(f"the event's payload cannot be read ({type(problem).__name__})") from None
    return found if isinstance(found, dict) else {}


def part(whole: dict[str, Any], name: str) -> dict[str, Any]:
    found = whole.get(name)
    return found if isinstance(found, dict) else {}


def may_be_ours(label: str) -> bool:
    """People label all day, so this is worth a call. Reading YAML is the worker's task: here, a mention is enough."""
    answer = call("GET", f"{repository()}/contents/{CONFIG}", missing={})
    config = text_of(answer).casefold()
    if "trigger" not in config:
        return label.casefold() == USUAL_LABEL
    return label.casefold() in config or "\\" in config


def text_of(answer: dict[str, Any]) -> str:
    import base64

    return base64.b64decode(str(answer.get("content") or "")).decode("utf-8", "replace")


def level_of(login: str) -> str:
    """Asked of the code host every time: what the payload says of an author is not a permission."""
    if not login or not login.replace("-", "").replace("_", "").isalnum() or not login.isascii():
        return "none"
    answer = call("GET", f"{repository()}/collaborators/{login}/permission", missing={})
    for key in ("role_name", "permission"):  # a role of the organisation's own has a name that means nothing here
        if answer.get(key) in LEVELS:
            return str(answer[key])
    return "none"


def reactions_path(name: str, event: dict[str, Any]) -> str:
    if name == "issue_comment":
        return f"{repository()}/issues/comments/{number(part(event, 'comment').get('id'))}/reactions"
    return f"{repository()}/issues/{number(part(event, 'issue').get('number'))}/reactions"


def number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ApiTrouble("the event's payload names neither a comment nor an issue")


def repository() -> str:
    return f"/repos/{os.environ.get('GITHUB_REPOSITORY', '')}"


def acknowledge(path: str) -> None:
    """A sign that it was seen. Work does not wait for it: a missing permission must not lose a command."""
    try:
        call("POST", path, {"content": "eyes"})
    except ApiTrouble as trouble:
        say(f"::warning title=prd2pr::the event could not be acknowledged by a reaction: {trouble}")


def call(method: str, path: str, body: object = None, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    """`missing`: what a 404 means; without it, it is trouble."""
    import time  # here and below: an ignored event pays for none of this

    for tried in range(1, TRIES + 1):
        status, wait, answer = once(method, path, body)
        if 200 <= status < 300:
            return answer
        if status == 404 and missing is not None:
            return missing
        passing = not status or status in PASSING_TROUBLE or (status == 403 and wait)
        if not passing or tried == TRIES:
            said = str(answer.get("message", ""))[:200].replace("\n", " ")
            raise ApiTrouble(f"{method} {path} answered {status or 'nothing'} {said}".strip())
        time.sleep(min(wait or 0.5 * 2**tried, LONGEST_WAIT))
    raise AssertionError("the last try returns or raises")


def once(method: str, path: str, body: object) -> tuple[int, float, dict[str, Any]]:
    """Status (0: no connection), seconds to wait that the answer names, and the answer."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"Accept": "application/vnd.github+json", "User-Agent": "prd2pr-gate"}
    headers |= {"Authorization": f"Bearer {os.environ.get('GITHUB_TOKEN', '')}", "X-GitHub-Api-Version": "2022-11-28"}
    data = None if body is None else json.dumps(body).encode()
    url = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/") + path
    try:
        with urlopen(Request(url, data, headers, method=method), timeout=20) as answer:  # noqa: S310 - the runner's own URL
            return answer.status, 0.0, as_object(answer.read(1_000_000))
    except HTTPError as error:
        after = error.headers.get("Retry-After", "")
        return error.code, float(after) if after.isdigit() else 0.0, as_object(error.read(100_000))
    except (OSError, HTTPException):
        return 0, 0.0, {}


def as_object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def put(name: str, value: str) -> None:
    """An output, between delimiters that nobody can guess."""
    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        mark = os.urandom(16).hex()
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{name}<<{mark}\n{value}\n{mark}\n")


if __name__ == "__main__":
    sys.exit(main())
