"""Whether GitHub sent it: HMAC-SHA256 over the bytes as they came, before anything reads them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

PREFIX = b"sha256="


def is_signed(body: bytes, signature: bytes, secrets: Sequence[bytes]) -> bool:
    """By any of the secrets: while one is being changed, two are good. All are tried, in the same time."""
    if not signature.startswith(PREFIX):
        return False
    given = signature.removeprefix(PREFIX)
    found = [hmac.compare_digest(hmac.digest(secret, body, hashlib.sha256).hex().encode(), given) for secret in secrets]
    return any(found)
