"""Secrets are redacted in every encoding."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.secrets import REDACTED, Secrets, strip_separators
from prd2pr.views.untrusted_text import escape_line, escape_prose, format_code_block, format_code_span

TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
KEY = "sk-ant-api03-|x<y>&z $(a)`b`/c+d=="
SECRETS = Secrets.from_values([TOKEN, KEY])

DISGUISES: dict[str, Callable[[str], str]] = {
    "raw": lambda value: value,
    "in words": lambda value: f"the key is {value}, remember it",
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 at offset 1": lambda value: base64.b64encode(b"x" + value.encode() + b"yz").decode(),
    "base64 at offset 2": lambda value: base64.b64encode(b"xy" + value.encode() + b"z").decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(f"?>{value}?>".encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "HEX": lambda value: value.encode().hex().upper(),
    "percent": lambda value: quote(value, safe=""),
    "percent with slashes": quote,
    "percent throughout": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "reversed": lambda value: value[::-1],
    "reversed base64": lambda value: base64.b64encode(value.encode()).decode()[::-1],
    "base64 of reversed": lambda value: base64.b64encode(value[::-1].encode()).decode(),
    "hex of reversed": lambda value: value[::-1].encode().hex(),
    "split by spaces": " ".join,
    "split by lines": lambda value: "\n".join(value[i : i + 5] for i in range(0, len(value), 5)),
    "invisible characters": "\u200b".join,
}


def leaks(text: str) -> bool:
    """Whether a reader could reassemble one of the secrets in the simplest way."""
    squeezed = "".join(text.split())
    return any("".join(value.split())[4:-4] in squeezed for value in (TOKEN, KEY))


@pytest.mark.parametrize("value", [TOKEN, KEY])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_secret_is_redacted(disguise: str, value: str) -> None:
    dressed = DISGUISES[disguise](value)
    scrubbed = SECRETS.scrub(f"before {dressed} after")
    assert scrubbed.count(REDACTED) == 1
    assert scrubbed.startswith("before ")
    assert scrubbed.endswith(" after")
    assert not leaks(scrubbed)


@pytest.mark.parametrize("value", [TOKEN, KEY])
@pytest.mark.parametrize("form", [escape_line, format_code_span, escape_prose, format_code_block])
def test_rendering_does_not_hide_a_secret(form: object, value: str) -> None:
    assert callable(form)
    assert SECRETS.scrub(f"it says {form(value)}").count(REDACTED) == 1


def test_long_secret_split_by_rendering_is_found() -> None:
    value = "A1b2" * 60
    assert Secrets.from_values([value]).scrub(escape_line(f"x{value}")).count(REDACTED) == 1


def test_ordinary_text_is_unchanged() -> None:
    text = "**2 of 5 stories proven** · `ghs_` tokens are minted again · c2stYW50"
    assert SECRETS.scrub(text) == text
    assert Secrets().scrub(text) == text
    assert Secrets.from_values(["", "abc", "  "]).scrub("abc") == "abc"


def test_a_private_key_is_found_line_by_line() -> None:
    lines = [sha256(str(n).encode()).hexdigest() for n in range(20)]
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(lines) + "\n-----END RSA PRIVATE KEY-----"
    secrets = Secrets.from_values([key])
    assert secrets.scrub(f"line seven is {lines[7]}.") == f"line seven is {REDACTED}."
    assert secrets.scrub(f"```\n{key}\n```").count(REDACTED) == 1
    assert secrets.scrub("it starts with -----BEGIN RSA PRIVATE KEY-----").count(REDACTED) == 0


def test_secrets_are_not_in_the_repr() -> None:
    assert TOKEN not in repr(SECRETS)


@given(st.text(st.characters(codec="utf-8"), min_size=6, max_size=40).filter(lambda s: len(strip_separators(s)) >= 6))
def test_any_value_is_found_raw_and_in_base64(value: str) -> None:
    secrets = Secrets.from_values([value])
    assert secrets.scrub(f"<{value}>").count(REDACTED) >= 1
    assert secrets.scrub(base64.b64encode(value.strip().encode()).decode()).count(REDACTED) >= 1


def test_secrets_added_later_are_redacted_too() -> None:
    secrets = Secrets.from_values(["first-secret-value"])
    assert secrets.scrub("ghs_minted0123456789").count(REDACTED) == 0
    secrets.learn("ghs_minted0123456789")
    assert secrets.scrub("first-secret-value, ghs_minted0123456789") == "[redacted], [redacted]"


def test_file_with_a_secret_is_detected() -> None:
    secrets = Secrets.from_values(["two-lines\nof-a-key"])
    assert secrets.contains_secret(json.dumps({"said": "it is two-lines\nof-a-key!"}).encode())
    assert secrets.contains_secret(b"\xff\x00" + b"two-lines\nof-a-key".hex().encode())
    assert not secrets.contains_secret(b"two lines of a poem")
    assert not Secrets().contains_secret(b"two-lines")
