"""Read and validate `.prd2pr.yml`."""

from __future__ import annotations

import json

from pydantic import ValidationError

from prd2pr.config import CONFIG_PATH, PATTERN_WORDS, Config
from prd2pr.errors import ConfigInvalid, InputInvalid
from prd2pr.prd import strict_yaml
from prd2pr.prd.validation_messages import build_field_problem, find_close_match
from prd2pr.verification.findings import FINDINGS, UNSWITCHABLE

# Roles of earlier versions; a setting that names one has no effect.
FORMER_ROLES = frozenset({"decomposer_cycles", "decomposer_tasks", "decomposer_criteria", "decomposer_hints"})


def list_deprecated_settings(config: Config) -> tuple[str, ...]:
    """Return a warning for each setting that is accepted but no longer has an effect."""
    named = {*config.models.roles, *config.context.roles} & FORMER_ROLES
    warnings = [f"the role `{name}` no longer exists; remove it from {CONFIG_PATH}" for name in sorted(named)]
    if config.strategy == "fused":
        warnings.append(f"`strategy: fused` is deprecated and the same as `conversation`; remove it from {CONFIG_PATH}")
    if config.retention.archive_after_days is not None:
        warnings.append(f"`retention.archive_after_days` is deprecated and has no effect; remove it from {CONFIG_PATH}")
    return tuple(warnings)


def load_config(text: str | None, where: str = CONFIG_PATH, *, unswitchable: frozenset[str] = UNSWITCHABLE) -> Config:
    """Parse and validate the configuration; None or an empty file means all defaults.

    The severity of the findings in `unswitchable` cannot be changed.
    """
    if text is None or not text.strip():
        return Config()
    try:
        loaded = strict_yaml.load_yaml(text.removeprefix("\ufeff"), where)
    except InputInvalid as error:
        raise ConfigInvalid(error.what, where=error.where, remedy=error.remedy) from None
    if loaded.data is None:
        return Config()
    if not isinstance(loaded.data, dict):
        raise ConfigInvalid(
            "the file is not a list of `key: value` lines",
            where=where,
            remedy="`prd2pr schema` prints every key with its description.",
        )
    config = _validate(loaded, where)
    _check_severities(config, loaded, where, unswitchable)
    return config


def _validate(loaded: strict_yaml.LoadedDocument, where: str) -> Config:
    try:
        # Validated as JSON, because a strict model accepts a JSON list for a tuple, but not a Python list.
        return Config.model_validate_json(json.dumps(loaded.data))
    except ValidationError as error:
        problems = [build_field_problem(details, Config, PATTERN_WORDS) for details in error.errors(include_url=False)]
    problems.sort(key=lambda problem: loaded.find_line(problem.path))
    first, more = problems[0], len(problems) - 1
    rest = "" if not more else f" (and {more} more {'problem' if more == 1 else 'problems'} in this file)"
    raise ConfigInvalid(first.what + rest, where=f"{where}:{loaded.find_line(first.path)}", remedy=first.remedy)


def _check_severities(
    config: Config, loaded: strict_yaml.LoadedDocument, where: str, unswitchable: frozenset[str]
) -> None:
    for code, severity in config.gates.severity.items():
        line = loaded.find_line(("gates", "severity", code))
        if code not in FINDINGS and code not in unswitchable:
            meant = find_close_match(code, FINDINGS)
            raise ConfigInvalid(
                f"there is no finding {code}" + (f"; did you mean {meant}?" if meant else ""),
                where=f"{where}:{line}",
                remedy="Remove the line, or correct the code.",
            )
        if severity != "error" and code in unswitchable:
            raise ConfigInvalid(
                f"{code} cannot be set to `{severity}`: every proof depends on it",
                where=f"{where}:{line}",
                remedy=f"Remove the line. `prd2pr explain {code}` explains the finding.",
            )
