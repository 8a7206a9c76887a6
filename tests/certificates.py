"""Every `httpx.Client` reads the certificate authorities, which takes 50 ms; the tests speak HTTP over loopback."""

from __future__ import annotations

from functools import cache

from httpx._transports import default


def read_certificates_once() -> None:
    default.create_ssl_context = cache(default.create_ssl_context)
