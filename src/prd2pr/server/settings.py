"""What the server is told: one frozen object, from a YAML file, the environment and the command line, in this order.

Each setting is described once, here; the reference page is made from these descriptions. A secret comes from the
environment, or from a file that the environment names, and from nowhere else: files get copied, command lines are seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from prd2pr.core import strict_yaml
from prd2pr.core.plain_errors import complaint, plain_type
from prd2pr.errors import ConfigInvalid, InputInvalid

PREFIX = "PRD2PR_"
FROM_FILE = "_FILE"
URL_PATTERN = r"^https?://[^\s/]+(/[^\s]*)?$"
DATABASE_PATTERN = r"^(sqlite:///\S+|postgres(ql)?(\+psycopg)?://\S+)$"
APP_ID_PATTERN = r"^([A-Za-z0-9._-]{1,100})?$"
REPO_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$"
SOURCE_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}$"
VARIABLE_PATTERN = r"^([A-Za-z_][A-Za-z0-9_]{0,99})?$"
PATTERN_WORDS = {
    REPO_PATTERN: "Write owner/name.",
    SOURCE_NAME_PATTERN: "Write a short name, such as `team-a`.",
    VARIABLE_PATTERN: "Write the name of an environment variable, not the token itself.",
    URL_PATTERN: "Write an address, as in https://prd2pr.example.org.",
    DATABASE_PATTERN: "Write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME.",
    APP_ID_PATTERN: "Write the App's id or client id, as the App's page shows it.",
}
# GitHub sends nothing larger.
LARGEST_DELIVERY = 25 * 1024 * 1024


RepoName = Annotated[str, Field(pattern=REPO_PATTERN)]


class SourceSetting(BaseModel):
    """Another server that is read too."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=SOURCE_NAME_PATTERN)
    url: str = Field(pattern=URL_PATTERN)
    token_env: str = Field(default="", pattern=VARIABLE_PATTERN)


def named_paths(given: object) -> object:
    """owner/name=path,owner/name=path, as an environment variable has it."""
    if not isinstance(given, str):
        return given
    pairs = (part.partition("=") for part in given.split(",") if part.strip())
    return {name.strip(): path.strip() for name, _, path in pairs}


class ServerSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    public_url: str = Field(
        default="http://127.0.0.1:8080", pattern=URL_PATTERN, description="Where people and GitHub reach this server."
    )
    database: str = Field(
        default="sqlite:///prd2pr-server.db",
        pattern=DATABASE_PATTERN,
        description="sqlite:///FILE, or postgresql://… for several replicas. One with a password belongs into the "
        "environment.",
    )
    github_api_url: str = Field(
        default="https://api.github.com", pattern=URL_PATTERN, description="GitHub's REST API; another one for GHES."
    )
    github_url: str = Field(default="https://github.com", pattern=URL_PATTERN, description="GitHub's pages and git.")
    app_id: str = Field(
        default="", pattern=APP_ID_PATTERN, description="The App's id. Empty: events are taken in, nothing is done."
    )
    app_private_key: SecretStr = Field(default=SecretStr(""), description="The App's private key, PEM.")
    webhook_secret: SecretStr = Field(
        default=SecretStr(""), description="What GitHub signs deliveries with. Empty: every delivery is refused."
    )
    webhook_secret_previous: SecretStr = Field(
        default=SecretStr(""), description="Also accepted, while the secret is being changed."
    )
    max_body_bytes: int = Field(
        default=LARGEST_DELIVERY, ge=1024, le=LARGEST_DELIVERY, description="A larger delivery is answered with 413."
    )
    body_timeout_seconds: float = Field(
        default=8.0, gt=0, le=60, description="A request whose body takes longer to arrive is answered with 408."
    )
    workers: Literal["actions", "local"] = Field(
        default="actions",
        description="Who does the work. actions: the repository's own workflow, started by `workflow_dispatch`; "
        "local: processes of this machine, in clones, which need the model's key in this server's environment.",
    )
    local_workers: int = Field(default=2, ge=1, le=64, description="Processes at once with `workers: local`.")
    local_directory: str = Field(
        default="prd2pr-clones", min_length=1, description="Where `workers: local` keeps its clones."
    )
    local_minutes: float = Field(default=60, gt=0, description="A local process that runs longer is stopped.")
    attempts: int = Field(
        default=14,
        ge=1,
        le=50,
        description="Tries at a delivery before it is put aside as a dead letter. With the waits between them, these "
        "are about an hour.",
    )
    backoff_seconds: float = Field(
        default=2.0, gt=0, description="Wait after the first failed try; doubled after each, up to ten minutes."
    )
    lease_seconds: float = Field(
        default=30.0, ge=0.5, description="How long a silent replica keeps what it took before another takes it over."
    )
    rate_per_minute: int = Field(
        default=20, ge=1, description="Effects of one repository in a minute; what is beyond waits."
    )
    effects_at_once: int = Field(default=8, ge=1, le=256, description="Repositories that one replica works on at once.")
    dispatch_minutes: float = Field(
        default=10.0, gt=0, description="A dispatched workflow that has not begun by then is dispatched again."
    )
    sweep_minutes: float = Field(
        default=5.0, gt=0, description="How often GitHub's delivery log and the branches are looked through."
    )
    stuck_minutes: float = Field(
        default=60.0, gt=0, description="A branch with work to do and no run for this long is continued."
    )
    drain_seconds: float = Field(
        default=1.0,
        ge=0,
        le=300,
        description="After SIGTERM: how long requests are still taken, with `/health/ready` at 503, before none is.",
    )
    repositories: Annotated[dict[RepoName, str], BeforeValidator(named_paths)] = Field(
        default={},
        description="Repositories on this machine that are shown: owner/name and the path of each. In the environment: "
        "owner/name=path, separated by commas.",
    )
    orders_here: bool = Field(
        default=False,
        description="Whether orders for `repositories` are carried out in them. Only where nobody else has their "
        "branches: nothing is pushed.",
    )
    mirrors_directory: str = Field(
        default="prd2pr-mirrors", min_length=1, description="Where copies of hosted repositories are kept for reading."
    )
    refresh_seconds: float = Field(
        default=60.0, ge=1, description="How often hosted repositories are looked at, also where no event came."
    )
    sources: tuple[SourceSetting, ...] = Field(
        default=(),
        description="Other servers whose projects are shown too: `name`, `url`, and in `token_env` the variable that "
        "holds the token for it. Only in the file.",
    )
    api_rate_per_minute: int = Field(
        default=1200, ge=1, description="Requests to the API with one token in a minute; beyond that it answers 429."
    )
    event_connections: int = Field(
        default=500, ge=1, description="Connections that listen to events at once; one token has a tenth of these."
    )
    keep_days: float = Field(
        default=30.0, ge=4, description="How long settled deliveries are kept. GitHub delivers again within 3 days."
    )


SECRETS = frozenset(name for name, field in ServerSettings.model_fields.items() if field.annotation is SecretStr)


@dataclass(frozen=True)
class Given:
    """A value and where it was written, for the sentence that says what is wrong with it."""

    value: Any
    where: str


def read_settings(options: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> ServerSettings:
    """Options that are None were not given. What is given later in this order counts: file, environment, options."""
    given = {**_from_file(file), **_from_environment(environment), **_from_options(options)}
    try:
        return ServerSettings.model_validate({name: each.value for name, each in given.items()})
    except ValidationError as error:
        first = complaint(error.errors(include_url=False)[0], ServerSettings, PATTERN_WORDS)
        name = str(first.path[0]) if first.path else ""
        what = f"`{name}` cannot be used" if name in SECRETS else first.what
        where = given[name].where if name in given else "the settings"
        raise ConfigInvalid(what, where=where, remedy=first.remedy) from None


def _from_file(path: Path | None) -> dict[str, Given]:
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"the settings cannot be read: {error}", where=str(path)) from None
    try:
        loaded = strict_yaml.load(text, str(path))
    except InputInvalid as error:
        raise ConfigInvalid(error.what, where=error.where, remedy=error.remedy) from None
    if loaded.data is None:
        return {}
    if not isinstance(loaded.data, dict):
        raise ConfigInvalid("the file is not a list of `key: value` lines", where=str(path))
    for name in loaded.data:
        if name in SECRETS:
            raise ConfigInvalid(
                f"`{name}` is a secret and does not belong into this file",
                where=f"{path}:{loaded.line_of((name,))}",
                remedy=f"Set {PREFIX}{name.upper()}, or {PREFIX}{name.upper()}{FROM_FILE} to the path of a file.",
            )
    return {name: Given(value, f"{path}:{loaded.line_of((name,))}") for name, value in loaded.data.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    given = {}
    for name in ServerSettings.model_fields:
        variable = PREFIX + name.upper()
        if environment.get(variable, ""):
            given[name] = Given(environment[variable], variable)
        elif environment.get(variable + FROM_FILE, ""):
            given[name] = Given(_file_text(environment[variable + FROM_FILE], variable), variable + FROM_FILE)
    return given


def _file_text(path: str, variable: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"the file that {variable}{FROM_FILE} names cannot be read: {error}", where=path) from None


def _from_options(options: Mapping[str, Any]) -> dict[str, Given]:
    given = {
        name: Given(options[name], f"--{name.replace('_', '-')}")
        for name in ServerSettings.model_fields
        if options.get(name) is not None
    }
    if "database" in given and urlsplit(str(given["database"].value)).password:
        raise ConfigInvalid(
            "a password on the command line can be seen by everybody on this machine",
            where="--database",
            remedy=f"Set {PREFIX}DATABASE, or {PREFIX}DATABASE{FROM_FILE} to the path of a file.",
        )
    return given


def reference_rows() -> list[tuple[str, str, str, str]]:
    """Name, variable, default and description of every setting, in order."""
    rows = []
    for name, field in ServerSettings.model_fields.items():
        kind = plain_type(field.annotation)
        default = "none" if kind is SecretStr or field.default == "" else f"`{field.default}`"
        rows.append((name, PREFIX + name.upper(), default, field.description or ""))
    return rows
