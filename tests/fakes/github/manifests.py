"""GitHub's page that creates an App from a manifest: what it refuses, and the code that it returns."""

from __future__ import annotations

import re
from typing import Any

from fakes.github.fake import FakeGitHub
from fakes.github.jwt import new_key_pair
from fakes.github.state import Conversion
from fakes.github.wire import Violation

HOUR = 3600
KEYS = {
    "name": str, "url": str, "hook_attributes": dict, "redirect_url": str, "callback_urls": list, "setup_url": str,
    "description": str, "public": bool, "default_events": list, "default_permissions": dict,
    "request_oauth_on_install": bool, "setup_on_update": bool,
}  # fmt: skip
# Which permission an event needs, by GitHub's rules.
EVENT_NEEDS = {
    "push": "contents",
    "issues": "issues",
    "issue_comment": "issues",
    "pull_request": "pull_requests",
    "pull_request_review": "pull_requests",
}


def create_app(fake: FakeGitHub, manifest: Any, owner: str, slug: str = "") -> str:
    """Confirm the page as a person would, and return the code."""
    check_manifest(manifest)
    private, public = new_key_pair()
    app = fake.add_app(slug or re.sub(r"[^a-z0-9]+", "-", manifest.get("name", "made").lower()), owner, public)
    app.permissions = {"metadata": "read", **manifest.get("default_permissions", {})}
    app.events = list(manifest.get("default_events", []))
    app.webhook = manifest.get("hook_attributes", {}).get("url", "")
    code = f"c{fake.new_id():039d}"
    secrets = {"pem": private, "webhook_secret": f"hook{fake.new_id()}", "client_secret": f"client{fake.new_id()}"}
    fake.state.conversions[code] = Conversion(app.id, fake.now() + HOUR, secrets)
    return code


def check_manifest(manifest: Any) -> None:
    if not isinstance(manifest, dict) or not manifest.get("url"):
        raise Violation(422, "the manifest has no url")
    for key, value in manifest.items():
        if not isinstance(value, KEYS.get(key, ())):
            raise Violation(422, f"the manifest's {key} is {value!r}")
    permissions = manifest.get("default_permissions", {})
    if not all(access in ("read", "write") for access in permissions.values()):
        raise Violation(422, f"default_permissions are {permissions!r}")
    for event in manifest.get("default_events", []):
        if EVENT_NEEDS.get(event) not in permissions:
            raise Violation(422, f"the event {event} needs a permission that is not asked for")
    if not set(manifest.get("hook_attributes", {"url": ""})) <= {"url", "active"}:
        raise Violation(422, "hook_attributes has other keys than url and active")
