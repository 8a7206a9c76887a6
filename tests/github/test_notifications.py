"""Messages through the real apprise, whose requests are caught by `responses`: Discord and Slack."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest
import responses

from prd2pr.github.notifications import defuse_mentions, send_message, split_addresses

DISCORD_SECRET = "x" * 68
DISCORD = f"discord://123456789012345678/{DISCORD_SECRET}"
DISCORD_API = f"https://discord.com/api/webhooks/123456789012345678/{DISCORD_SECRET}"
SLACK_SECRET = "ABCDEFGHIJKLMNOPQRSTUVWX"
SLACK = f"slack://T1JJ3T3L2/A1BRTD4JD/{SLACK_SECRET}/#builds"
SLACK_API = f"https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/{SLACK_SECRET}"


@responses.activate
def test_a_message_reaches_discord_and_slack():
    responses.post(DISCORD_API, status=204)
    responses.post(SLACK_API, body="ok")
    assert send_message((DISCORD, SLACK), "loyalty waits", "Comment /approve to go on.") == ()
    sent = [json.loads(call.request.body) for call in responses.calls]
    assert [call.request.url.partition("?")[0] for call in responses.calls] == [DISCORD_API, SLACK_API]
    for message in map(json.dumps, sent):
        assert "loyalty waits" in message and "Comment /approve to go on." in message


@responses.activate
@pytest.mark.parametrize("status", [401, 404, 429, 500, None])  # None: no network
def test_a_failure_is_a_note_without_the_secret(status: int | None, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    if status is not None:
        responses.post(DISCORD_API, status=status)
    responses.post(SLACK_API, body="ok")
    (note,) = send_message((DISCORD, SLACK), "t", "b")
    assert note == "No message was sent to address 1 of 2 (discord): the service rejected it."
    shown = capsys.readouterr()
    assert DISCORD_SECRET not in note + shown.out + shown.err + caplog.text
    assert len(responses.calls) >= 2


@pytest.mark.parametrize("url", ["nonsense", "nosuch://user:s3cret@host", "discord://", "https", "slack://s3cret"])
def test_an_invalid_url_is_a_note_without_it(url: str, capsys, caplog):
    (note,) = send_message((url,), "t", "b")
    assert note.endswith("apprise cannot read the address.")
    shown = capsys.readouterr()
    assert "s3cret" not in note + shown.out + shown.err + caplog.text


def test_no_url_no_message():
    assert send_message((), "t", "b") == ()
    assert split_addresses(f"  {DISCORD}\n{SLACK} ") == (DISCORD, SLACK)


def test_mentions_in_a_prd_notify_nobody():
    assert (
        defuse_mentions("@everyone <!channel> <@U1> a@b <b>")
        == "@\u200beveryone <\u200b!channel> <\u200b@\u200bU1> a@\u200bb <b>"
    )


@responses.activate
def test_discord_messages_mention_nobody():
    responses.post(DISCORD_API, status=204)
    send_message((DISCORD,), "t", "@everyone look")
    assert "@everyone" not in json.loads(responses.calls[0].request.body)["content"]


def test_without_apprise_the_note_says_how_to_install_it():
    code = """
import sys
sys.modules["apprise"] = None
from prd2pr.github.notifications import send_message
print(send_message(("discord://1/2",), "t", "b")[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'prd2pr[notify]'" in done.stdout and "discord" not in done.stdout
