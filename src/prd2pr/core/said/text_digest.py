"""Of an issue's text, as somebody saw it: whoever compares it later knows whether its author has changed it since."""

from __future__ import annotations

import hashlib


def text_digest(title: str, body: str) -> str:
    return hashlib.sha256(f"{title}\0{body}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
