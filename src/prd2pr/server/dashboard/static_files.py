"""The dashboard's style sheet, script and icon, used by the server and the static site."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from prd2pr.templating import template_root

MEDIA_TYPES = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}


@cache
def read_static_file(name: str) -> bytes:
    """Return the file's content; raise KeyError for an unknown name."""
    if name not in MEDIA_TYPES:
        raise KeyError(name)
    return (template_root() / "dashboard" / "static" / name).read_bytes()


@cache
def compute_static_version() -> str:
    """Return a digest of all static files, for cache busting."""
    digest = sha256()
    for name in sorted(MEDIA_TYPES):
        digest.update(read_static_file(name))
    return digest.hexdigest()[:12]
