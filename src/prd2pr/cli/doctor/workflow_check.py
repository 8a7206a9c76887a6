"""Check that the workflow file matches this prd2pr version and configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from prd2pr.cli.doctor.checkup import SetupCheck
from prd2pr.config import Config
from prd2pr.github.setup.workflow_file import (
    NOTIFY_URLS,
    SCHEDULE_PATH,
    SHARED_PATH,
    WORKFLOW_PATH,
    list_key_names,
    push_paths,
)

PRD2PR_USES = re.compile(r"uses:\s*[\"']?([\w.-]+/prd2pr)(?:/[\w./-]+)?@([\w./-]+)")
SHARED_USES = re.compile(rf"uses:\s*[\"']?\S+/{re.escape(SHARED_PATH)}@")
EVENTS = ("push", "issues", "issue_comment", "pull_request_review", "pull_request_review_comment", "workflow_dispatch")
STORY_MODES = ("plan", "story", "integrate")
WHERE_SECRETS_GO = "to `secrets` of its job, or to `env` of the steps that run prd2pr"
REWRITE_HINT = f"delete {WORKFLOW_PATH} and run prd2pr init to write it again"


def run_workflow_checks(text: str, config: Config, branch: str, commit: str) -> Iterator[SetupCheck]:
    """Yield the checks of the workflow file.

    `branch` is the default branch, and `commit` the commit of this prd2pr, or "" if unknown.
    """
    try:
        workflow = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        workflow = None
    if not isinstance(workflow, dict):
        yield SetupCheck("workflow", "wrong", f"{WORKFLOW_PATH} is not valid YAML", REWRITE_HINT)
        return
    yield run_version_check(text, commit)
    yield run_trigger_check(
        workflow.get(True, workflow.get("on")), config, branch
    )  # YAML 1.1 parses the key `on` as true
    yield run_key_check(text, config)
    if config.story_jobs > 1 and not SHARED_USES.search(text):  # the shared workflow has these jobs
        yield run_story_jobs_check(workflow.get("jobs"), config)
    if config.notify.events:
        yield run_notices_check(text, config)


def run_version_check(text: str, commit: str) -> SetupCheck:
    pins = {pin for _, pin in PRD2PR_USES.findall(text)}
    loose = sorted(pin for pin in pins if not re.fullmatch(r"[0-9a-f]{40}", pin))
    if not pins:
        return SetupCheck("workflow", "wrong", f"{WORKFLOW_PATH} does not use prd2pr", REWRITE_HINT)
    if loose:
        return SetupCheck(
            "workflow",
            "wrong",
            f"prd2pr is pinned to {loose[0]}, which can be moved",
            "pin it to a commit (40 hex digits)",
        )
    if len(pins) > 1:
        return SetupCheck(
            "workflow", "wrong", "its jobs use different versions of prd2pr", "pin all of them to the same commit"
        )
    (pin,) = pins
    if commit and pin != commit:
        return SetupCheck(
            "workflow",
            "warning",
            f"it runs prd2pr at commit {pin[:10]}, but this is {commit[:10]}",
            f"if that commit is older: {REWRITE_HINT}; Dependabot and Renovate also update it",
        )
    return SetupCheck("workflow", "ok", f"{WORKFLOW_PATH}, prd2pr at commit {pin[:10]}")


def run_trigger_check(on: Any, config: Config, branch: str) -> SetupCheck:
    triggers = on if isinstance(on, dict) else dict.fromkeys(on if isinstance(on, list) else [on])
    missing = [name for name in EVENTS if name not in triggers]
    if missing:
        return SetupCheck("triggers", "warning", f"the workflow is not triggered by {', '.join(missing)}", REWRITE_HINT)
    push = triggers["push"] if isinstance(triggers["push"], dict) else {}
    paths, branches = push.get("paths"), push.get("branches")
    wanted = push_paths(config)
    if paths is not None and set(paths) != set(wanted):
        return SetupCheck(
            "triggers",
            "warning",
            f"a push triggers it for {', '.join(paths)}, but should trigger it for {', '.join(wanted)}",
            f"set on.push.paths in {WORKFLOW_PATH} to these globs",
        )
    base = config.base_branch or branch
    if base and branches is not None and base not in branches:
        kind, place = "default", "on.push.branches and the checkout's ref"
        if base != branch:
            kind, place = "base", "on.push.branches"
        found = f"a push triggers it only on {', '.join(branches)}, but the {kind} branch is {base}"
        return SetupCheck("triggers", "wrong", found, f"set {place} to {base}")
    return SetupCheck("triggers", "ok", "PRDs, labels, comments and continuation")


def run_schedule_check(text: str | None, workflow: str) -> SetupCheck:
    """Check that a separate file schedules runs, which find lost events."""
    rewrite = f"run prd2pr init to write {SCHEDULE_PATH}"
    if re.search(r"^  schedule:", workflow, re.MULTILINE):
        found = f"the schedule is in {WORKFLOW_PATH}, which GitHub disables after 60 days without activity"
        return SetupCheck("schedule", "warning", found, f"remove `schedule:` there, and {rewrite}")
    if text is None:
        return SetupCheck(
            "schedule", "warning", f"no {SCHEDULE_PATH}: a lost event is not handled before the next command", rewrite
        )
    return SetupCheck("schedule", "ok", SCHEDULE_PATH)


def run_branch_check(text: str, branch: str, base: str = "") -> SetupCheck:
    """Check that the workflow uses `branch`, which is the default branch according to GitHub.

    `base` is the branch to which PRDs are pushed, if it is a different one.
    """
    workflow = yaml.safe_load(text)
    push = workflow.get(True, workflow.get("on"))["push"]
    listed = list(push.get("branches") or ()) if push else []
    steps = [step for job in workflow["jobs"].values() for step in job.get("steps", ())]
    refs = [step["with"]["ref"] for step in steps if "ref" in step.get("with", ())]
    refs_named = [str(ref) for ref in refs if "${{" not in str(ref)]
    others = sorted({*map(str, listed), *refs_named} - {branch})
    if (listed and (base or branch) not in listed) or set(refs_named) - {branch}:
        return SetupCheck(
            "default branch",
            "wrong",
            f"{WORKFLOW_PATH} names {', '.join(others)}, but GitHub's default branch is {branch}",
            f"set on.push.branches and the checkout's ref to {branch}",
        )
    return SetupCheck("default branch", "ok", f"{branch}, as in the workflow")


def run_notices_check(text: str, config: Config) -> SetupCheck:
    if config.notify.urls_from != NOTIFY_URLS:
        return SetupCheck(
            "notices",
            "wrong",
            f"the Action reads the URLs from {NOTIFY_URLS}, but notify.urls_from is {config.notify.urls_from}",
            "remove urls_from from .prd2pr.yml",
        )
    if f"secrets.{NOTIFY_URLS}" not in text:
        return SetupCheck(
            "notices",
            "wrong",
            f"notify.events is set, but the workflow does not pass {NOTIFY_URLS} to prd2pr",
            f"add {NOTIFY_URLS}: ${{{{ secrets.{NOTIFY_URLS} }}}} {WHERE_SECRETS_GO}",
        )
    return SetupCheck("notices", "ok", f"{', '.join(config.notify.events)}, to the URLs in the secret {NOTIFY_URLS}")


def run_story_jobs_check(jobs: Any, config: Config) -> SetupCheck:
    """Check that the workflow has jobs in all three modes, which `init` writes together."""
    steps = [
        step
        for job in (jobs.values() if isinstance(jobs, dict) else ())
        for step in (job.get("steps") or () if isinstance(job, dict) else ())
    ]
    inputs = [step.get("with") for step in steps if isinstance(step, dict)]
    modes = {each.get("mode") for each in inputs if isinstance(each, dict)}
    missing = [mode for mode in STORY_MODES if mode not in modes]
    if missing == list(STORY_MODES):
        found = (
            f"story_jobs is {config.story_jobs}, but the workflow has no jobs for it: stories run one after the other"
        )
        return SetupCheck("story jobs", "warning", found, REWRITE_HINT)
    if missing:
        return SetupCheck(
            "story jobs", "wrong", f"the workflow has no job in mode {' or in mode '.join(missing)}", REWRITE_HINT
        )
    return SetupCheck("story jobs", "ok", f"up to {config.story_jobs} in parallel")


def run_key_check(text: str, config: Config) -> SetupCheck:
    needed = list_key_names(config)
    missing = [name for name in needed if f"secrets.{name}" not in text]
    if missing:
        return SetupCheck(
            "model key",
            "wrong",
            f"the workflow does not pass {', '.join(missing)} to prd2pr",
            f"add {missing[0]}: ${{{{ secrets.{missing[0]} }}}} {WHERE_SECRETS_GO}",
        )
    return SetupCheck("model key", "ok", f"passed: {', '.join(needed)}" if needed else "none needed")
