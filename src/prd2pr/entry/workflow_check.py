"""Does the workflow file do what this prd2pr and this configuration need? A pure look at its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from prd2pr.config import Config
from prd2pr.entry.checkup import Check
from prd2pr.flows.workflow_file import NOTIFY_URLS, WORKFLOW_PATH, key_names, push_paths

OURS = re.compile(r"uses:\s*[\"']?([\w.-]+/prd2pr)@([\w./-]+)")
EVENTS = ("push", "issues", "issue_comment", "workflow_dispatch", "schedule")
STORY_MODES = ("plan", "story", "integrate")
ANEW = f"delete {WORKFLOW_PATH} and run prd2pr init, which writes it anew"


def workflow_checks(text: str, config: Config, branch: str, commit: str) -> Iterator[Check]:
    """`branch` is the default branch, `commit` that of this prd2pr; empty where it is not known."""
    try:
        read = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        read = None
    if not isinstance(read, dict):
        yield Check("workflow", "wrong", f"{WORKFLOW_PATH} is not YAML that can be read", ANEW)
        return
    yield version_check(text, commit)
    yield trigger_check(read.get(True, read.get("on")), config, branch)  # YAML 1.1 reads the key `on` as true
    yield key_check(text, config)
    if config.story_jobs > 1:
        yield story_jobs_check(read.get("jobs"), config)
    if config.notify.events:
        yield notices_check(text, config)


def version_check(text: str, commit: str) -> Check:
    pins = {pin for _, pin in OURS.findall(text)}
    loose = sorted(pin for pin in pins if not re.fullmatch(r"[0-9a-f]{40}", pin))
    if not pins:
        return Check("workflow", "wrong", f"{WORKFLOW_PATH} does not use prd2pr", ANEW)
    if loose:
        return Check(
            "workflow", "wrong", f"prd2pr is used at {loose[0]}, which can be moved", "pin it by 40 hex digits"
        )
    if len(pins) > 1:
        return Check("workflow", "wrong", "gate and worker use two versions of prd2pr", "pin both to the same commit")
    (pin,) = pins
    if commit and pin != commit:
        return Check(
            "workflow",
            "warning",
            f"it runs prd2pr of commit {pin[:10]}, and this is {commit[:10]}",
            f"if that one is older: {ANEW}; Dependabot and Renovate renew it too",
        )
    return Check("workflow", "ok", f"{WORKFLOW_PATH}, prd2pr of commit {pin[:10]}")


def trigger_check(on: Any, config: Config, branch: str) -> Check:
    triggers = on if isinstance(on, dict) else dict.fromkeys(on if isinstance(on, list) else [on])
    missing = [name for name in EVENTS if name not in triggers]
    if missing:
        return Check("triggers", "warning", f"the workflow does not listen to {', '.join(missing)}", ANEW)
    push = triggers["push"] if isinstance(triggers["push"], dict) else {}
    paths, branches = push.get("paths"), push.get("branches")
    wanted = push_paths(config)
    if paths is not None and set(paths) != set(wanted):
        return Check(
            "triggers",
            "warning",
            f"a push starts it for {', '.join(paths)}, and it should for {', '.join(wanted)}",
            f"write these globs under on.push.paths of {WORKFLOW_PATH}",
        )
    if branch and branches is not None and branch not in branches:
        return Check(
            "triggers",
            "wrong",
            f"a push starts it on {', '.join(branches)} only, and the default branch is {branch}",
            f"write {branch} under on.push.branches and under ref of the checkout",
        )
    return Check("triggers", "ok", "PRDs, labels, comments, continuation and schedule")


def branch_check(text: str, branch: str) -> Check:
    """`branch` is what GitHub calls the default branch: both lines of the workflow that name one must name that."""
    read = yaml.safe_load(text)
    push = read.get(True, read.get("on"))["push"]
    listed = list(push.get("branches") or ()) if push else []
    steps = [step for job in read["jobs"].values() for step in job.get("steps", ())]
    refs = [step["with"]["ref"] for step in steps if "ref" in step.get("with", ())]
    written = [str(ref) for ref in refs if "${{" not in str(ref)]
    others = sorted({*map(str, listed), *written} - {branch})
    if (listed and branch not in listed) or set(written) - {branch}:
        return Check(
            "default branch",
            "wrong",
            f"{WORKFLOW_PATH} is written for {', '.join(others)}, and GitHub's default branch is {branch}",
            f"write {branch} under on.push.branches and under ref of the checkout",
        )
    return Check("default branch", "ok", f"{branch}, as in the workflow")


def notices_check(text: str, config: Config) -> Check:
    if config.notify.urls_from != NOTIFY_URLS:
        return Check(
            "notices",
            "wrong",
            f"the Action sends messages to what {NOTIFY_URLS} holds, and notify.urls_from is {config.notify.urls_from}",
            "take urls_from out of .prd2pr.yml",
        )
    if f"secrets.{NOTIFY_URLS}" not in text:
        return Check(
            "notices",
            "wrong",
            f"notify.events is set, and the workflow does not hand {NOTIFY_URLS} to prd2pr",
            f"add {NOTIFY_URLS}: ${{{{ secrets.{NOTIFY_URLS} }}}} under env of the step that works",
        )
    return Check("notices", "ok", f"{', '.join(config.notify.events)}, to what the secret {NOTIFY_URLS} holds")


def story_jobs_check(jobs: Any, config: Config) -> Check:
    """All three modes, or nobody takes what is handed on: `init` writes them together."""
    steps = [
        step
        for job in (jobs.values() if isinstance(jobs, dict) else ())
        for step in (job.get("steps") or () if isinstance(job, dict) else ())
    ]
    given = [step.get("with") for step in steps if isinstance(step, dict)]
    modes = {each.get("mode") for each in given if isinstance(each, dict)}
    missing = [mode for mode in STORY_MODES if mode not in modes]
    if missing == list(STORY_MODES):
        found = (
            f"story_jobs is {config.story_jobs}, and the workflow has no jobs for it: stories go one after the other"
        )
        return Check("story jobs", "warning", found, ANEW)
    if missing:
        return Check("story jobs", "wrong", f"the workflow has no job in mode {' nor in mode '.join(missing)}", ANEW)
    return Check("story jobs", "ok", f"up to {config.story_jobs} side by side")


def key_check(text: str, config: Config) -> Check:
    needed = key_names(config)
    missing = [name for name in needed if f"secrets.{name}" not in text]
    if missing:
        return Check(
            "model key",
            "wrong",
            f"the workflow does not hand {', '.join(missing)} to prd2pr",
            f"add {missing[0]}: ${{{{ secrets.{missing[0]} }}}} under env of the step that works",
        )
    return Check("model key", "ok", f"handed on: {', '.join(needed)}" if needed else "none is needed")
