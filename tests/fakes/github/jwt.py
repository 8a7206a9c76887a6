"""The JSON web token by which an App authenticates. The signature is really checked, by openssl."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from pathlib import Path

from fakes.github.fake import FakeGitHub
from fakes.github.state import App
from fakes.github.wire import Refusal

SKEW = 60
LONGEST = 600


def new_key_pair() -> tuple[str, str]:
    """Private and public key, as PEM."""
    private = _openssl("genrsa", "-traditional", "2048")
    return private.decode(), _openssl("rsa", "-pubout", stdin=private).decode()


def _openssl(*arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *arguments], input=stdin, capture_output=True, check=True).stdout


def app_of_jwt(fake: FakeGitHub, word: str) -> App:
    try:
        head, claims, signature = word.split(".")
        algorithm, facts = json.loads(_decoded(head))["alg"], json.loads(_decoded(claims))
        signed = f"{head}.{claims}".encode()
        issuer, issued, expires = str(facts["iss"]), int(facts["iat"]), int(facts["exp"])
    except (ValueError, KeyError):
        raise Refusal(401, "A JSON web token could not be decoded") from None
    app = next((each for each in fake.state.apps.values() if issuer in (str(each.id), each.client_id)), None)
    if app is None:
        raise Refusal(404, "Integration not found")
    if algorithm != "RS256" or not _signed_by(app.public_key, signed, _decoded(signature)):
        raise Refusal(401, "A JSON web token could not be decoded")
    if expires <= fake.now():
        raise Refusal(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time")
    if expires > fake.now() + LONGEST + SKEW:
        raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")
    if issued > fake.now() + SKEW:
        raise Refusal(
            401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
        )
    return app


def _decoded(word: str) -> bytes:
    return base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))


def _signed_by(public_key: str, signed: bytes, signature: bytes) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        key, proof = Path(scratch) / "key.pem", Path(scratch) / "signature"
        key.write_text(public_key, encoding="utf-8")
        proof.write_bytes(signature)
        done = subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", key, "-signature", proof],
            input=signed, capture_output=True, check=False,
        )  # fmt: skip
    return done.returncode == 0
