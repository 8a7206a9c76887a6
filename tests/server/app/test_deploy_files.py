"""The files of deploy/ match what the program understands; systemd checks the unit if it is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from prd2pr.cli.dispatch import build_parser
from prd2pr.server.settings import ENV_PREFIX, ServerSettings, read_settings

DEPLOY = Path(__file__).parents[3] / "deploy"
UNIT = (DEPLOY / "prd2pr.service").read_text(encoding="utf-8")
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
INSTRUCTIONS = {
    *("FROM", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"),
    *("ENTRYPOINT", "CMD"),
}


def variables(text: str) -> set[str]:
    known = {f"{ENV_PREFIX}{name.upper()}{ending}" for name in ServerSettings.model_fields for ending in ("", "_FILE")}
    used = set(re.findall(rf"{ENV_PREFIX}[A-Z_]+", text))
    assert used <= known, used - known
    return used


def test_the_unit_starts_the_server_with_valid_options() -> None:
    [started] = re.findall(r"^ExecStart=\S+/prd2pr (.+)$", UNIT, re.MULTILINE)
    options = build_parser().parse_args(started.split())
    assert options.command == "serve" and options.config == "/etc/prd2pr/server.yml"
    assert variables(UNIT) >= {"PRD2PR_APP_PRIVATE_KEY_FILE", "PRD2PR_WEBHOOK_SECRET_FILE"}
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[1])
    assert stop > 20 + ServerSettings().drain_seconds, "longer than the server takes to finish"


def test_the_example_contains_only_known_settings() -> None:
    settings = read_settings({}, {}, DEPLOY / "server.yml")
    assert settings.public_url == "https://prd2pr.example.org" and settings.app_id


def test_the_settings_file_names_the_database_of_the_unit() -> None:
    """`serve --config … token create` and `--restore` of docs/deploy.md are called without the unit's environment."""
    assert "PRD2PR_DATABASE=" not in UNIT and "\nStateDirectory=prd2pr\n" in UNIT
    assert read_settings({}, {}, DEPLOY / "server.yml").database == "sqlite:////var/lib/prd2pr/server.db"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    unit = tmp_path / "prd2pr.service"
    unit.write_text(UNIT.replace("/opt/prd2pr/bin/prd2pr", "/bin/true"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_starts_the_server_and_runs_nothing_as_root() -> None:
    lines = re.sub(r"\\\n", " ", CONTAINER).splitlines()
    told = [line.partition(" ")[::2] for line in lines if line.strip() and not line.startswith("#")]
    assert {word for word, _ in told} <= INSTRUCTIONS
    last = dict(told)
    program, *arguments = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
    options = build_parser().parse_args(arguments)
    assert (program, options.command, options.host, options.port) == ("prd2pr", "serve", "0.0.0.0", 8080)
    assert last["USER"] not in ("root", "0") and last["STOPSIGNAL"] == "SIGTERM" and last["EXPOSE"] == "8080"
    assert variables(CONTAINER) == {"PRD2PR_DATABASE"}
    check = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "healthcheck", "exec")


def test_the_proxy_passes_what_the_server_accepts() -> None:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert ServerSettings().max_body_bytes == 25 * 1024 * 1024 and "client_max_body_size 25m;" in text
    assert text.count("{") == text.count("}") and "proxy_buffering off;" in text
