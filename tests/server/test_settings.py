"""Settings come from three places, secrets from one, and an invalid one is reported by name and place."""

from __future__ import annotations

import pytest

from prd2pr.errors import ConfigInvalid
from prd2pr.server.settings import ServerSettings, list_server_settings, read_settings


def test_options_override_the_environment_which_overrides_the_file(tmp_path):
    file = tmp_path / "server.yml"
    file.write_text("port: 1\nhost: a\nattempts: 3\n")
    settings = read_settings({"port": 3, "host": None}, {"PRD2PR_PORT": "2", "PRD2PR_HOST": "b"}, file)
    assert (settings.port, settings.host, settings.attempts) == (3, "b", 3)


def test_a_secret_comes_from_a_file_named_in_the_environment_and_is_not_shown(tmp_path):
    (tmp_path / "secret").write_text("s3cret\n")
    settings = read_settings({}, {"PRD2PR_WEBHOOK_SECRET_FILE": str(tmp_path / "secret")}, None)
    assert settings.webhook_secret.get_secret_value() == "s3cret"
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("options", "environment", "text", "what", "where"),
    [
        ({}, {}, "webhook_secret: x\n", "`webhook_secret` is a secret", "server.yml:1"),
        ({}, {}, "host: a\nprot: 1\n", "did you mean `port`", "server.yml:2"),
        ({}, {"PRD2PR_PORT": "many"}, "", "`port` cannot be `many`", "PRD2PR_PORT"),
        ({}, {}, "workers: local\n", "`workers` cannot be `local`", "server.yml:1"),
        ({}, {"PRD2PR_WORKERS": "local"}, "", "`workers` cannot be `local`", "PRD2PR_WORKERS"),
        ({"database": "mysql://x"}, {}, "", "`database` cannot be", "--database"),
        ({"database": "postgresql://me:pw@h/d"}, {}, "", "a password on the command line", "--database"),
        ({}, {"PRD2PR_DATABASE_FILE": "/nonexistent"}, "", "cannot be read", "/nonexistent"),
    ],
)
def test_an_invalid_setting_is_reported_with_its_place(tmp_path, options, environment, text, what, where):
    file = tmp_path / "server.yml"
    file.write_text(text)
    with pytest.raises(ConfigInvalid) as told:
        read_settings(options, environment, file)
    assert what in told.value.what and told.value.where.endswith(where)


def test_every_setting_is_described():
    assert [row[0] for row in list_server_settings() if not row[3]] == []
    assert len(list_server_settings()) == len(ServerSettings.model_fields)
