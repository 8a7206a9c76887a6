"""Check runs, one per key and commit. If the token belongs to a person, a commit status is published instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prd2pr.domain.ci import OUR_CHECKS, CheckResult
from prd2pr.domain.forge import Annotation, CheckRun, Conclusion, is_same_text
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import RepositoryApi, check_response, patch_call, post_call
from prd2pr.github.client.exchange import ApiResponse
from prd2pr.github.client.repository import RepositoryCalls

MAX_ANNOTATIONS_PER_CALL = 50  # GitHub's limit for one request
MAX_STATUS_LENGTH = 140

STATUS_STATES: dict[Conclusion, str] = {
    "success": "success",
    "failure": "failure",
    "neutral": "success",
    "action_required": "pending",
}


class CheckCalls(RepositoryCalls):
    def check(self, check: CheckRun) -> None:
        """Create or update the check run.

        Only the App that created a check run can change it. A check run by an earlier App is kept if it is up to date,
        otherwise a second one is created.
        """
        scrub = self.secrets.scrub
        annotations = tuple(map(self._scrub_annotation, check.annotations))
        check = replace(check, title=scrub(check.title), summary=scrub(check.summary), annotations=annotations)
        app = self.me().login.removesuffix("[bot]")
        there = find_check_run(self.api, check, app) or find_check_run(self.api, check, app)
        if there is not None and _app_slug(there) != app and _is_complete(check, there):
            return
        if there is None or _app_slug(there) != app:
            there = _create_check_run(self.api, check, app)
        if there is not None:
            _complete_check_run(self.api, check, there)

    def _scrub_annotation(self, each: Annotation) -> Annotation:
        scrub = self.secrets.scrub
        return replace(each, path=scrub(each.path), message=scrub(each.message), title=scrub(each.title))

    def check_results(self, sha: str) -> tuple[CheckResult, ...]:
        """Return all checks of a commit. Our own have `domain.ci.OUR_CHECKS` as their App.

        They are recognized by name, because a workflow's token belongs to the same App as CI jobs.
        """
        found = self.api.pages(self.api.path("commits", sha, "check-runs"), "check_runs", filter="latest")
        return tuple(
            CheckResult(
                name=str(each["name"]),
                conclusion=str(each.get("conclusion") or ""),
                app=OUR_CHECKS if str(each["name"]).startswith(f"{OUR_CHECKS} / ") else _app_slug(each),
            )
            for each in found
        )


def find_check_run(api: RepositoryApi, check: CheckRun, app: str) -> Mapping[str, Any] | None:
    """Return the oldest check run with our key, preferably one that our App created.

    Check runs with another key may have the same name.
    """
    address = api.path("commits", check.sha, "check-runs")
    found = [
        each
        for each in api.pages(address, "check_runs", check_name=check.name, filter="all")
        if each.get("external_id") == check.key
    ]
    return min(found, key=lambda each: (_app_slug(each) != app, int(each["id"])), default=None)


def _app_slug(row: Mapping[str, Any]) -> str:
    app = row.get("app")
    return str(app.get("slug") or "") if isinstance(app, dict) else ""


def _create_check_run(api: RepositoryApi, check: CheckRun, app: str) -> Mapping[str, Any] | None:
    """Create the check run, or set a commit status and return None if the token belongs to a person."""
    body = {
        "name": check.name,
        "head_sha": check.sha,
        "external_id": check.key,
        "status": "completed",
        "conclusion": check.conclusion,
        "output": _build_output(check, check.annotations[:MAX_ANNOTATIONS_PER_CALL]),
    }
    call = post_call(api.path("check-runs"), body)

    def look() -> Mapping[str, Any] | None:
        found = find_check_run(api, check, app)
        return found if found is not None and _app_slug(found) == app else None

    done = api.send_checked(call, look)
    if not isinstance(done, ApiResponse):
        return done
    if done.status == 403 and "github app" in done.message.lower():
        _publish_status(api, check)
        return None
    made: Mapping[str, Any] = check_response(call, done).body
    return made


def _complete_check_run(api: RepositoryApi, check: CheckRun, there: Mapping[str, Any]) -> None:
    """Update the text and append missing annotations. GitHub never removes annotations, so each is sent only once."""
    number, shown = int(there["id"]), _count_annotations(there)
    if not _has_same_text(check, there):
        _update_check_run(api, check, number, shown, shown)
    while shown < len(check.annotations):
        shown = _update_check_run(
            api, check, number, shown, min(shown + MAX_ANNOTATIONS_PER_CALL, len(check.annotations))
        )


def _update_check_run(api: RepositoryApi, check: CheckRun, number: int, start: int, end: int) -> int:
    """Send the text with the annotations from `start` to `end`, and return the number of annotations sent so far."""
    address = api.path("check-runs", number)
    body = {"conclusion": check.conclusion, "output": _build_output(check, check.annotations[start:end])}

    def look() -> int | None:
        there = api.get(address)
        return end if _has_same_text(check, there) and _count_annotations(there) >= end else None

    return api.create_or_find(patch_call(address, body), look, lambda _: end)


def _count_annotations(there: Mapping[str, Any]) -> int:
    return int((there.get("output") or {}).get("annotations_count") or 0)


def _is_complete(check: CheckRun, there: Mapping[str, Any]) -> bool:
    return _has_same_text(check, there) and _count_annotations(there) >= len(check.annotations)


def _has_same_text(check: CheckRun, there: Mapping[str, Any]) -> bool:
    output = there.get("output") or {}
    return (
        there.get("conclusion") == check.conclusion
        and json_reader.read_text(output.get("title")) == check.title
        and is_same_text(json_reader.read_text(output.get("summary")), check.summary)
    )


def _build_output(check: CheckRun, annotations: tuple[Annotation, ...]) -> dict[str, Any]:
    output: dict[str, Any] = {"title": check.title, "summary": check.summary}
    if annotations:
        output["annotations"] = [_annotation_json(each) for each in annotations]
    return output


def _annotation_json(each: Annotation) -> dict[str, Any]:
    line = max(1, each.line)
    plain: dict[str, Any] = {
        "path": each.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": each.level,
        "message": each.message,
    }
    return {**plain, "title": each.title} if each.title else plain


def _publish_status(api: RepositoryApi, check: CheckRun) -> None:
    wanted = {
        "state": STATUS_STATES[check.conclusion],
        "context": check.name,
        "description": check.title[:MAX_STATUS_LENGTH],
    }

    def there() -> bool | None:
        found = api.pages(api.path("commits", check.sha, "statuses"))
        newest = next((each for each in found if each.get("context") == check.name), {})
        return True if all(newest.get(key) == value for key, value in wanted.items()) else None

    if not there():
        api.create_or_find(post_call(api.path("statuses", check.sha), wanted), there, lambda _: True)
