"""Logs are lines of JSON without secrets, whatever was logged."""

from __future__ import annotations

import io
import json
import logging

import pytest

from prd2pr.domain.secrets import Secrets
from prd2pr.server.logs import MAX_TEXT_LENGTH, JsonFormatter, configure_logging, list_secret_values
from prd2pr.server.settings import ServerSettings

TOKEN = f"prd2pr_{'a1' * 6}_{'Zz0-' * 10}abc"


@pytest.fixture
def log():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(Secrets.from_values(["a webhook's secret"])))
    logger = logging.getLogger("prd2pr.test_logs")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, stream
    logger.removeHandler(handler)


def test_a_record_is_one_line_with_its_context(log):
    logger, stream = log
    logger.warning("two\nlines of %s", "text", extra={"repo": "octo/shop", "tries": 3})
    (line,) = stream.getvalue().splitlines()
    told = json.loads(line)
    assert told["message"] == "two\nlines of text"
    assert (told["level"], told["repo"], told["tries"]) == ("warning", "octo/shop", 3)


@pytest.mark.parametrize(
    "leak",
    [
        TOKEN,
        f"Authorization: Bearer {TOKEN}",
        "authorization: bearer abcdefghijkl",
        "ghs_" + "x1" * 18,
        "postgresql://prd2pr:hunter22@db/prd2pr",
        "a webhook's secret",
        "YSB3ZWJob29rJ3Mgc2VjcmV0",  # the same in base64
    ],
)
def test_secrets_are_removed_everywhere(log, leak):
    logger, stream = log
    logger.error("it says %s", leak, extra={"header": leak})
    try:
        raise ValueError(leak)
    except ValueError:
        logger.exception("it broke")
    said = stream.getvalue()
    for part in ("Zz0-", "abcdefghijkl", "x1x1", "hunter22", "webhook's", "YSB3"):
        assert part not in said.replace("import", "")
    assert said.count("[redacted]") >= 3


@pytest.mark.parametrize("secret", [TOKEN, "a webhook's secret"])
def test_a_long_line_is_not_cut_inside_a_secret(log, secret):
    logger, stream = log
    for part in range(1, len(secret)):
        logger.warning("%s%s and so on", "x" * (MAX_TEXT_LENGTH - part), secret)
    told = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    assert {len(each) <= MAX_TEXT_LENGTH for each in told} == {True}
    assert [each[-20:] for each in told if secret[:8] in each] == []


def test_secrets_of_the_settings_are_known(monkeypatch):
    monkeypatch.setenv("TEAM_A", "the token of team a")
    settings = ServerSettings(
        webhook_secret="hush-hush",
        database="postgresql://prd2pr:hunter22@db/prd2pr",
        sources=[{"name": "a", "url": "https://a.example", "token_env": "TEAM_A"}],
    )
    assert {"hush-hush", "hunter22", "the token of team a"} <= set(list_secret_values(settings))


def test_libraries_log_in_the_same_format(monkeypatch):
    for name in ("uvicorn", "uvicorn.error"):  # as in a process that has served nothing yet
        for what, value in (("disabled", False), ("propagate", True), ("level", logging.NOTSET)):
            monkeypatch.setattr(logging.getLogger(name), what, value)
    root, dbos = logging.getLogger(), logging.getLogger("dbos")
    before = (root.handlers[:], root.level, dbos.handlers[:], dbos.propagate)
    stream = io.StringIO()
    try:
        configure_logging(Secrets.from_values(["hush-hush"]), stream)
        assert dbos.handlers, "dbos would add one of its own"
        dbos.error("it says hush-hush")
        logging.getLogger("uvicorn.error").info("running on %s", "http://127.0.0.1:1")
    finally:
        root.handlers[:], dbos.handlers[:], dbos.propagate = before[0], before[2], before[3]
        root.setLevel(before[1])
    lines = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    assert lines == ["it says [redacted]", "running on http://127.0.0.1:1"]
