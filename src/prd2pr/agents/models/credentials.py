"""API keys and base URLs of providers, read from the environment, checked before a call and never shown."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from prd2pr.errors import ModelMissing

HIDDEN = "[hidden]"
SHORTEST_SECRET = 6  # hiding shorter ones would garble ordinary words


ANTHROPIC_REMEDY = (
    "export ANTHROPIC_API_KEY=… (in GitHub Actions: a repository secret of this name), or choose another model with "
    "`--model` or `models: {default: …}` in .prd2pr.yml: `openai:MODEL`, `command:PROGRAM`, `human`, `replay:FILE`."
)


def read_anthropic_key(env: Mapping[str, str]) -> str:
    return read_key(env, "ANTHROPIC_API_KEY", ANTHROPIC_REMEDY)


def read_key(env: Mapping[str, str], name: str, remedy: str) -> str:
    key = env.get(name, "").strip()
    if not key:
        raise ModelMissing(f"No key for the model: {name} is not set", where="environment", remedy=remedy)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelMissing(
            f"{name} contains invalid characters", where="environment", remedy="Copy the key again, in one line."
        )
    return key


def read_base_url(env: Mapping[str, str], name: str, default: str) -> str:
    url = env.get(name, "").strip() or default
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ModelMissing(
            f"{name} is not an http(s) URL: {url}",
            where="environment",
            remedy=f"Write the full URL, as in {name}={default}, or unset it.",
        )
    return url.rstrip("/")


def redact_secrets(text: str, *secrets: str) -> str:
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    return text
