"""Check runs: one for each key and commit, however often it is shown. For a person's token, a commit status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prd2pr.core.ci import OUR_CHECKS, CheckResult
from prd2pr.core.hub import Actor, Annotation, Check, Conclusion, same_text
from prd2pr.forges.github import reading
from prd2pr.forges.github.exchange import Answer
from prd2pr.forges.github.wire import Wire, changing, good, posting

BATCH = 50  # annotations that GitHub takes in one request
STATUS_WORDS = 140

STATES: dict[Conclusion, str] = {
    "success": "success",
    "failure": "failure",
    "neutral": "success",
    "action_required": "pending",
}


def show(wire: Wire, me: Actor, check: Check) -> None:
    """Only the App that made a check can change it: what an earlier one of ours showed stays, or is shown anew."""
    app = me.login.removesuffix("[bot]")
    there = find(wire, check, app) or find(wire, check, app)
    if there is not None and _app(there) != app and _shows_all(check, there):
        return
    if there is None or _app(there) != app:
        there = _create(wire, check, app)
    if there is not None:
        _complete(wire, check, there)


def find(wire: Wire, check: Check, app: str) -> Mapping[str, Any] | None:
    """The oldest with our key that we made, else that an earlier App did; others' can have no more than the name."""
    address = wire.at("commits", check.sha, "check-runs")
    found = [
        each
        for each in wire.pages(address, "check_runs", check_name=check.name, filter="all")
        if each.get("external_id") == check.key
    ]
    return min(found, key=lambda each: (_app(each) != app, int(each["id"])), default=None)


def results(wire: Wire, sha: str) -> tuple[CheckResult, ...]:
    """Ours are told by their name: an Action's own token belongs to the same App as the jobs of CI."""
    found = wire.pages(wire.at("commits", sha, "check-runs"), "check_runs", filter="latest")
    return tuple(
        CheckResult(
            name=str(each["name"]),
            conclusion=str(each.get("conclusion") or ""),
            app=OUR_CHECKS if str(each["name"]).startswith(f"{OUR_CHECKS} / ") else _app(each),
        )
        for each in found
    )


def _app(row: Mapping[str, Any]) -> str:
    app = row.get("app")
    return str(app.get("slug") or "") if isinstance(app, dict) else ""


def _create(wire: Wire, check: Check, app: str) -> Mapping[str, Any] | None:
    """None where the token is a person's, to whom GitHub gives no check runs: a status is shown in its place."""
    body = {
        "name": check.name,
        "head_sha": check.sha,
        "external_id": check.key,
        "status": "completed",
        "conclusion": check.conclusion,
        "output": _output(check, check.annotations[:BATCH]),
    }
    call = posting(wire.at("check-runs"), body)

    def look() -> Mapping[str, Any] | None:
        found = find(wire, check, app)
        return found if found is not None and _app(found) == app else None

    done = wire.attempt(call, look)
    if not isinstance(done, Answer):
        return done
    if done.status == 403 and "github app" in done.message.lower():
        _show_status(wire, check)
        return None
    made: Mapping[str, Any] = good(call, done).body
    return made


def _complete(wire: Wire, check: Check, there: Mapping[str, Any]) -> None:
    """Annotations are only ever added to a check: what is there already is counted and not sent again."""
    number, shown = int(there["id"]), _shown(there)
    if not _says(check, there):
        _update(wire, check, number, shown, shown)
    while shown < len(check.annotations):
        shown = _update(wire, check, number, shown, min(shown + BATCH, len(check.annotations)))


def _update(wire: Wire, check: Check, number: int, start: int, end: int) -> int:
    """Sends annotations `start` to `end` along with the text; the answer is how many are shown then."""
    address = wire.at("check-runs", number)
    body = {"conclusion": check.conclusion, "output": _output(check, check.annotations[start:end])}

    def look() -> int | None:
        there = wire.get(address)
        return end if _says(check, there) and _shown(there) >= end else None

    return wire.make(changing(address, body), look, lambda _: end)


def _shown(there: Mapping[str, Any]) -> int:
    return int((there.get("output") or {}).get("annotations_count") or 0)


def _shows_all(check: Check, there: Mapping[str, Any]) -> bool:
    return _says(check, there) and _shown(there) >= len(check.annotations)


def _says(check: Check, there: Mapping[str, Any]) -> bool:
    output = there.get("output") or {}
    return (
        there.get("conclusion") == check.conclusion
        and reading.text(output.get("title")) == check.title
        and same_text(reading.text(output.get("summary")), check.summary)
    )


def _output(check: Check, annotations: tuple[Annotation, ...]) -> dict[str, Any]:
    output: dict[str, Any] = {"title": check.title, "summary": check.summary}
    if annotations:
        output["annotations"] = [_annotation(each) for each in annotations]
    return output


def _annotation(each: Annotation) -> dict[str, Any]:
    line = max(1, each.line)
    plain: dict[str, Any] = {
        "path": each.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": each.level,
        "message": each.message,
    }
    return {**plain, "title": each.title} if each.title else plain


def _show_status(wire: Wire, check: Check) -> None:
    wanted = {"state": STATES[check.conclusion], "context": check.name, "description": check.title[:STATUS_WORDS]}

    def there() -> bool | None:
        """The newest of a context is the one that counts."""
        found = wire.pages(wire.at("commits", check.sha, "statuses"))
        newest = next((each for each in found if each.get("context") == check.name), {})
        return True if all(newest.get(key) == value for key, value in wanted.items()) else None

    if not there():
        wire.make(posting(wire.at("statuses", check.sha), wanted), there, lambda _: True)
