"""The server's settings: one frozen object from a YAML file, the environment and the command line.

Later sources override earlier ones. The reference page is generated from the descriptions here. Secrets are read only
from the environment, or from a file named there, because settings files get copied and command lines are visible to
other users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from prd2pr.errors import ConfigInvalid, InputInvalid
from prd2pr.prd import strict_yaml
from prd2pr.prd.validation_messages import build_field_problem, unwrap_optional

ENV_PREFIX = "PRD2PR_"
FILE_SUFFIX = "_FILE"
URL_PATTERN = r"^https?://[^\s/]+(/[^\s]*)?$"
OPTIONAL_URL_PATTERN = rf"^$|{URL_PATTERN}"
DATABASE_PATTERN = r"^(sqlite:///\S+|postgres(ql)?(\+psycopg)?://\S+)$"
APP_ID_PATTERN = r"^([A-Za-z0-9._-]{1,100})?$"
REPO_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$"
SOURCE_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}$"
ORIGIN_PATTERN = r"^(\*|https?://[A-Za-z0-9.\[\]:-]+)$"
VARIABLE_PATTERN = r"^([A-Za-z_][A-Za-z0-9_]{0,99})?$"
PATTERN_HINTS = {
    REPO_PATTERN: "Write owner/name.",
    SOURCE_NAME_PATTERN: "Write a short name, such as `team-a`.",
    VARIABLE_PATTERN: "Write the name of an environment variable, not the token itself.",
    ORIGIN_PATTERN: "Write an origin without a path, as in https://status.example.org.",
    URL_PATTERN: "Write an address, as in https://prd2pr.example.org.",
    OPTIONAL_URL_PATTERN: "Write an address, as in https://prd2pr.example.org.",
    DATABASE_PATTERN: "Write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME.",
    APP_ID_PATTERN: "Write the App's id or client id, as the App's page shows it.",
}
# GitHub sends nothing larger.
MAX_DELIVERY_BYTES = 25 * 1024 * 1024


RepoName = Annotated[str, Field(pattern=REPO_PATTERN)]
CorsOrigin = Annotated[str, Field(pattern=ORIGIN_PATTERN)]


class SourceSetting(BaseModel):
    """Another server whose projects are also shown."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=SOURCE_NAME_PATTERN)
    url: str = Field(pattern=URL_PATTERN)
    token_env: str = Field(default="", pattern=VARIABLE_PATTERN)


def parse_repository_paths(given: object) -> object:
    """Parse `owner/name=path,owner/name=path`, the format of the environment variable."""
    if not isinstance(given, str):
        return given
    pairs = (part.partition("=") for part in given.split(",") if part.strip())
    return {name.strip(): path.strip() for name, _, path in pairs}


def split_at_commas(given: object) -> object:
    """Split a text from the environment at its commas."""
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


class ServerSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="The port to listen on; 0 picks a free port.")
    public_url: str = Field(
        default="http://127.0.0.1:8080",
        pattern=URL_PATTERN,
        description="The address under which people and GitHub reach this server.",
    )
    database: str = Field(
        default="sqlite:///prd2pr-server.db",
        pattern=DATABASE_PATTERN,
        description="sqlite:///FILE, or postgresql://… for several replicas. Set a URL with a password in the "
        "environment.",
    )
    github_api_url: str = Field(
        default="https://api.github.com", pattern=URL_PATTERN, description="GitHub's REST API; set it for GHES."
    )
    github_url: str = Field(default="https://github.com", pattern=URL_PATTERN, description="GitHub's pages and git.")
    app_id: str = Field(
        default="",
        pattern=APP_ID_PATTERN,
        description="The App's id. If empty, events are stored but no work is done.",
    )
    app_private_key: SecretStr = Field(default=SecretStr(""), description="The App's private key in PEM format.")
    webhook_secret: SecretStr = Field(
        default=SecretStr(""),
        description="The secret with which GitHub signs deliveries. If empty, every delivery is rejected.",
    )
    webhook_secret_previous: SecretStr = Field(
        default=SecretStr(""), description="The previous secret, also accepted while the secret is being rotated."
    )
    max_body_bytes: int = Field(
        default=MAX_DELIVERY_BYTES,
        ge=1024,
        le=MAX_DELIVERY_BYTES,
        description="Larger deliveries are answered with 413.",
    )
    body_timeout_seconds: float = Field(
        default=8.0, gt=0, le=60, description="Requests whose body takes longer to arrive are answered with 408."
    )
    workers: Literal["actions"] = Field(
        default="actions",
        description="Where work is done: always in the repository's own workflow. Kept so that settings files of "
        "earlier versions stay valid; `local` was removed, because a repository's code could read the App's key.",
    )
    attempts: int = Field(
        default=14,
        ge=1,
        le=50,
        description="Attempts at a delivery before it becomes a dead letter. With the delays in between, the "
        "default takes about an hour.",
    )
    backoff_seconds: float = Field(
        default=2.0,
        gt=0,
        description="Delay after the first failed attempt; it doubles each time, up to ten minutes.",
    )
    lease_seconds: float = Field(
        default=30.0, ge=0.5, description="How long a replica may be silent before the others continue its work."
    )
    rate_per_minute: int = Field(
        default=20, ge=1, description="Work items started per repository and minute; further ones have to wait."
    )
    effects_at_once: int = Field(
        default=8, ge=1, le=256, description="Repositories that one replica works on concurrently."
    )
    dispatch_minutes: float = Field(
        default=10.0,
        gt=0,
        description="A dispatched workflow that has not started after this time is dispatched again.",
    )
    sweep_minutes: float = Field(
        default=5.0, gt=0, description="How often GitHub's delivery log and the branches are checked."
    )
    stuck_minutes: float = Field(
        default=60.0, gt=0, description="A branch with work to do and no run for this long is continued."
    )
    drain_seconds: float = Field(
        default=1.0,
        ge=0,
        le=300,
        description="How long requests are still accepted after SIGTERM, while `/health/ready` answers 503.",
    )
    repositories: Annotated[dict[RepoName, str], BeforeValidator(parse_repository_paths)] = Field(
        default={},
        description="Repositories on this machine to show: owner/name and path of each. In the environment: "
        "owner/name=path, separated by commas.",
    )
    orders_here: bool = Field(
        default=False,
        description="Whether orders for `repositories` are executed in them. Use it only if nobody else works on "
        "their branches: nothing is pushed.",
    )
    mirrors_directory: str = Field(
        default="prd2pr-mirrors", min_length=1, description="Where copies of hosted repositories are kept for reading."
    )
    refresh_seconds: float = Field(
        default=60.0, ge=1, description="How often hosted repositories are checked, even without an event."
    )
    sources: tuple[SourceSetting, ...] = Field(
        default=(),
        description="Other servers whose projects are also shown: `name`, `url`, and in `token_env` the name of the "
        "variable with the token. Can be set only in the file.",
    )
    aggregator_url: str = Field(
        default="",
        pattern=OPTIONAL_URL_PATTERN,
        description="Another server that shows this server's projects: this server registers there when it starts, "
        "and sends a heartbeat every 15 seconds.",
    )
    aggregator_token: SecretStr = Field(
        default=SecretStr(""),
        description="A token of the aggregator with the scope operate. Its name is shown there as this server's name, "
        "and its repositories limit what is shown.",
    )
    api_rate_per_minute: int = Field(
        default=1200, ge=1, description="API requests per token and minute; more are answered with 429."
    )
    cors_origins: Annotated[tuple[CorsOrigin, ...], BeforeValidator(split_at_commas)] = Field(
        default=(),
        description="Origins whose pages may call the API with a token, such as https://status.example.org. In the "
        "environment: separated by commas. `*` allows every origin.",
    )
    event_connections: int = Field(
        default=500, ge=1, description="Concurrent connections to the event stream; one token gets a tenth of these."
    )
    keep_days: float = Field(
        default=30.0, ge=4, description="How long completed deliveries are kept. GitHub redelivers within 3 days."
    )


SECRET_NAMES = frozenset(name for name, field in ServerSettings.model_fields.items() if field.annotation is SecretStr)


@dataclass(frozen=True)
class SettingValue:
    """A value with its origin, for error messages."""

    value: Any
    where: str


def read_settings(options: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> ServerSettings:
    """Merge file, environment and options; later ones override earlier ones. Options that are None are ignored."""
    given = {**_read_file(file), **_read_environment(environment), **_read_options(options)}
    try:
        return ServerSettings.model_validate({name: each.value for name, each in given.items()})
    except ValidationError as error:
        first = build_field_problem(error.errors(include_url=False)[0], ServerSettings, PATTERN_HINTS)
        name = str(first.path[0]) if first.path else ""
        what = f"`{name}` is invalid" if name in SECRET_NAMES else first.what
        where = given[name].where if name in given else "the settings"
        raise ConfigInvalid(what, where=where, remedy=first.remedy) from None


def _read_file(path: Path | None) -> dict[str, SettingValue]:
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"the settings file cannot be read: {error}", where=str(path)) from None
    try:
        loaded = strict_yaml.load_yaml(text, str(path))
    except InputInvalid as error:
        raise ConfigInvalid(error.what, where=error.where, remedy=error.remedy) from None
    if loaded.data is None:
        return {}
    if not isinstance(loaded.data, dict):
        raise ConfigInvalid("the settings file is not a mapping of `key: value` lines", where=str(path))
    for name in loaded.data:
        if name in SECRET_NAMES:
            raise ConfigInvalid(
                f"`{name}` is a secret and must not be in the settings file",
                where=f"{path}:{loaded.find_line((name,))}",
                remedy=f"Set {ENV_PREFIX}{name.upper()}, or {ENV_PREFIX}{name.upper()}{FILE_SUFFIX} to a file's path.",
            )
    return {name: SettingValue(value, f"{path}:{loaded.find_line((name,))}") for name, value in loaded.data.items()}


def _read_environment(environment: Mapping[str, str]) -> dict[str, SettingValue]:
    given = {}
    for name in ServerSettings.model_fields:
        variable = ENV_PREFIX + name.upper()
        if environment.get(variable, ""):
            given[name] = SettingValue(environment[variable], variable)
        elif environment.get(variable + FILE_SUFFIX, ""):
            given[name] = SettingValue(
                _read_secret_file(environment[variable + FILE_SUFFIX], variable), variable + FILE_SUFFIX
            )
    return given


def _read_secret_file(path: str, variable: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"the file named by {variable}{FILE_SUFFIX} cannot be read: {error}", where=path) from None


def _read_options(options: Mapping[str, Any]) -> dict[str, SettingValue]:
    given = {
        name: SettingValue(options[name], f"--{name.replace('_', '-')}")
        for name in ServerSettings.model_fields
        if options.get(name) is not None
    }
    if "database" in given and urlsplit(str(given["database"].value)).password:
        raise ConfigInvalid(
            "a password on the command line is visible to every user of this machine",
            where="--database",
            remedy=f"Set {ENV_PREFIX}DATABASE, or {ENV_PREFIX}DATABASE{FILE_SUFFIX} to the path of a file.",
        )
    return given


def list_server_settings() -> list[tuple[str, str, str, str]]:
    """Return the name, variable, default and description of every setting, in order."""
    rows = []
    for name, field in ServerSettings.model_fields.items():
        kind = unwrap_optional(field.annotation)
        default = "none" if kind is SecretStr or field.default == "" else f"`{field.default}`"
        rows.append((name, ENV_PREFIX + name.upper(), default, field.description or ""))
    return rows
