"""The style sheet, the script and the mark: files beside the templates, the same on a server and in a static site."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from prd2pr.templating import template_root

KINDS = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}


@cache
def content(name: str) -> bytes:
    """Only these names lead to a file."""
    if name not in KINDS:
        raise KeyError(name)
    return (template_root() / "dashboard" / "static" / name).read_bytes()


@cache
def version() -> str:
    """Another one where any of them is another."""
    digest = sha256()
    for name in sorted(KINDS):
        digest.update(content(name))
    return digest.hexdigest()[:12]
