"""The workflow's gate job: check that an event concerns prd2pr and its author is authorized, and acknowledge it.

It runs straight from the Action's source (`python3 -I gate_job.py`) with only the standard library, so it answers
within seconds and needs no installation. It requires the lowest permission that any command needs; the worker checks
each command itself. Outsiders get neither a reaction nor a worker.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # `-I` removes both the script's directory and the current one from the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from prd2pr.cli.ignored_events import find_ignore_reason
from prd2pr.domain.forge import LEVELS
from prd2pr.github.messages.markers import read_prd_marker
from prd2pr.prd.issue_ids import make_issue_prd_id

# A comment may contain a read command, for which `triage` is enough; a label starts work.
REQUIRED_LEVELS = {
    "issue_comment": "triage",
    "issues": "write",
    "pull_request_review": "triage",
    "pull_request_review_comment": "triage",
}
SUBJECTS = {"issue_comment": "comment", "pull_request_review": "review", "pull_request_review_comment": "comment"}
CONFIG = ".prd2pr.yml"
DEFAULT_LABEL, DEFAULT_PREFIX = "prd2pr", "prd2pr/"  # defaults of the configuration
RETRYABLE_STATUSES = (429, 500, 502, 503, 504)
PRD_ID = re.compile(r"[A-Za-z0-9._-]+")


class GateDecision(NamedTuple):
    go: bool
    reason: str
    acknowledge: str = ""  # API path for reactions to the comment or issue
    prd: str = ""  # the PRD's id if it is cheap to find, so that runs of one PRD wait for each other


class GateApiError(Exception):
    """GitHub did not answer, or the response was unusable."""


def main() -> int:
    try:
        decision = decide_event()
        if decision.acknowledge:
            acknowledge(decision.acknowledge)
    except GateApiError as error:
        print_line(f"::error title=prd2pr::could not check the author's permission: {error}")
        return 1
    print_line(f"prd2pr: {'go' if decision.go else 'nothing to do'}: {decision.reason}")
    write_output("go", "true" if decision.go else "false")
    write_output("reason", decision.reason)
    write_output("prd", decision.prd)
    return 0


def decide_event() -> GateDecision:
    if reason := find_ignore_reason():
        return GateDecision(go=False, reason=reason)
    name = os.environ.get("GITHUB_EVENT_NAME", "")
    if name not in REQUIRED_LEVELS:
        return GateDecision(go=True, reason=f"{name or 'no event'} is checked by the worker")
    event = read_event_payload()
    subject = get_object(event, SUBJECTS[name]) if name in SUBJECTS else event
    person = get_object(subject, "user" if name in SUBJECTS else "sender")
    login = str(person.get("login") or "")
    if person.get("type") == "Bot" or login.endswith("[bot]"):
        return GateDecision(go=False, reason="commands from bots are ignored")
    if unwanted := explain_unwanted_subject(name, event):
        return GateDecision(go=False, reason=unwanted)
    pull = get_object(event, "pull_request")
    level = fetch_permission(login)
    if LEVELS.index(level) < LEVELS.index(REQUIRED_LEVELS[name]):
        return GateDecision(
            go=False, reason=f"the author's permission is {level}, but {REQUIRED_LEVELS[name]} is needed"
        )
    return GateDecision(
        go=True,
        reason=f"{login} is authorized",
        acknowledge=make_reactions_path(name, event),
        prd=find_branch_prd_id(get_object(pull, "head")) if pull else find_prd_id(get_object(event, "issue")),
    )


def explain_unwanted_subject(name: str, event: dict[str, Any]) -> str:
    """Return why the label, or the pull request of a review, is none of prd2pr's, or an empty string."""
    if name == "issues" and not is_trigger_label(str(get_object(event, "label").get("name") or "")):
        return "this is not the trigger label"
    pull = get_object(event, "pull_request")
    source = get_object(get_object(pull, "head"), "repo").get("full_name")
    return "the pull request comes from a fork" if pull and source != os.environ.get("GITHUB_REPOSITORY") else ""


def find_prd_id(issue: dict[str, Any]) -> str:
    """Return the PRD's id for the worker's concurrency group. The worker determines the actual id itself."""
    number = issue.get("number")
    try:
        if get_object(issue, "pull_request"):
            found = find_branch_prd_id(
                get_object(call_api("GET", f"{make_repository_path()}/pulls/{number}", missing={}), "head")
            )
        else:
            found = read_prd_marker(str(issue.get("body") or "")) or make_issue_prd_id(int(str(number)))
    except (GateApiError, ValueError):
        return ""  # then runs for the same issue wait for each other
    return found if PRD_ID.fullmatch(found) else ""


def find_branch_prd_id(head: dict[str, Any]) -> str:
    branch = str(head.get("ref") or "")
    if branch.startswith(DEFAULT_PREFIX):
        return branch.removeprefix(DEFAULT_PREFIX)
    config = decode_content(call_api("GET", f"{make_repository_path()}/contents/{CONFIG}", missing={}))
    configured = re.search(r"^branch_prefix:\s*[\"']?([^\s\"'#]+)", config, re.MULTILINE)
    return branch.removeprefix(configured[1]) if configured and branch.startswith(configured[1]) else ""


def read_event_payload() -> dict[str, Any]:
    try:
        found = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
    except (KeyError, OSError, ValueError, RecursionError) as problem:
        raise GateApiError(f"the event payload cannot be read ({type(problem).__name__})") from None
    return found if isinstance(found, dict) else {}


def get_object(whole: dict[str, Any], name: str) -> dict[str, Any]:
    found = whole.get(name)
    return found if isinstance(found, dict) else {}


def is_trigger_label(label: str) -> bool:
    """Return whether the label may be the trigger.

    For this job, it is enough that the configuration mentions the label.
    """
    response = call_api("GET", f"{make_repository_path()}/contents/{CONFIG}", missing={})
    config = decode_content(response).casefold()
    if "trigger" not in config:
        return label.casefold() == DEFAULT_LABEL
    return label.casefold() in config or "\\" in config


def decode_content(response: dict[str, Any]) -> str:
    import base64

    return base64.b64decode(str(response.get("content") or "")).decode("utf-8", "replace")


def fetch_permission(login: str) -> str:
    """Fetch the author's permission from GitHub, because the payload's author association is not a permission."""
    if not login or not login.replace("-", "").replace("_", "").isalnum() or not login.isascii():
        return "none"
    response = call_api("GET", f"{make_repository_path()}/collaborators/{login}/permission", missing={})
    for key in ("role_name", "permission"):  # a custom role has a name that is not a level
        if response.get(key) in LEVELS:
            return str(response[key])
    return "none"


def make_reactions_path(name: str, event: dict[str, Any]) -> str:
    """Return the API path for reactions, or "" for a review, which can have none through REST."""
    if name == "pull_request_review":
        return ""
    if name in SUBJECTS:
        place = "issues" if name == "issue_comment" else "pulls"
        comment = require_number(get_object(event, "comment").get("id"))
        return f"{make_repository_path()}/{place}/comments/{comment}/reactions"
    return f"{make_repository_path()}/issues/{require_number(get_object(event, 'issue').get('number'))}/reactions"


def require_number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise GateApiError("the event payload names neither a comment nor an issue")


def make_repository_path() -> str:
    return f"/repos/{os.environ.get('GITHUB_REPOSITORY', '')}"


def acknowledge(path: str) -> None:
    """React to the comment or issue.

    A failure is only a warning, so that a missing permission does not lose a command.
    """
    try:
        call_api("POST", path, {"content": "eyes"})
    except GateApiError as error:
        print_line(f"::warning title=prd2pr::could not add a reaction to acknowledge the event: {error}")


def call_api(method: str, path: str, body: object = None, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call the API with retries. `missing` is the result for a 404, which is otherwise an error."""
    from prd2pr.retry import RetryPolicy  # lazy, here and below: an ignored event needs none of these imports

    policy, attempt = RetryPolicy(tries=4, first_wait=1.0, longest_request=20.0, cuts_long_requests=True), 0
    while True:
        attempt += 1
        status, wait, response = request_once(method, path, body)
        if 200 <= status < 300:
            return response
        if status == 404 and missing is not None:
            return missing
        is_temporary = not status or status in RETRYABLE_STATUSES or (status == 403 and wait)
        if not is_temporary or not policy.pause(attempt, str(status), wait):
            message = str(response.get("message", ""))[:200].replace("\n", " ")
            raise GateApiError(f"{method} {path} returned {status or 'no response'} {message}".strip())


def request_once(method: str, path: str, body: object) -> tuple[int, float, dict[str, Any]]:
    """Return the status (0 if there was no connection), the requested delay in seconds, and the response."""
    import time
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    from prd2pr.retry import read_retry_after

    headers = {"Accept": "application/vnd.github+json", "User-Agent": "prd2pr-gate"}
    headers |= {"Authorization": f"Bearer {os.environ.get('GITHUB_TOKEN', '')}", "X-GitHub-Api-Version": "2022-11-28"}
    data = None if body is None else json.dumps(body).encode()
    url = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/") + path
    try:
        with urlopen(Request(url, data, headers, method=method), timeout=20) as response:  # noqa: S310 - the runner's own URL
            return response.status, 0.0, parse_object(response.read(1_000_000))
    except HTTPError as error:
        return error.code, read_retry_after(error.headers, time.time()) or 0.0, parse_object(error.read(100_000))
    except (OSError, HTTPException):
        return 0, 0.0, {}


def parse_object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")


def write_output(name: str, value: str) -> None:
    """Write a step output between random delimiters."""
    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        delimiter = os.urandom(16).hex()
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


if __name__ == "__main__":
    sys.exit(main())
