from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from anthropic.types.model import Model
from pydantic import ValidationError

from prd2pr.config import Config
from prd2pr.config_file import load_config
from prd2pr.config_schema import build_json_schema, list_config_rows
from prd2pr.errors import ConfigInvalid
from prd2pr.verification.findings import UNSWITCHABLE

ROOT = Path(__file__).parents[1]


def refusal(text: str) -> ConfigInvalid:
    with pytest.raises(ConfigInvalid) as caught:
        load_config(text)
    return caught.value


@pytest.mark.parametrize("text", [None, "", "  \n", "# all defaults\n", "{}", "\ufeff"])
def test_empty_file_gives_the_defaults(text: str | None) -> None:
    assert load_config(text) == Config()


def test_defaults() -> None:
    config = load_config(None)
    assert config.branch_prefix == "prd2pr/"
    assert config.attempts == 4
    assert config.strategy == "conversation"
    assert config.sandbox == "auto"
    assert config.prices == {}, "prices are never invented"
    assert config.budget.usd_per_run is None
    assert (config.test.timeout_seconds, config.test.stall_seconds) == (1800, 60)


def test_client_knows_the_default_models() -> None:
    known = get_args(get_args(Model)[0])
    for spec in (Config().models.default, Config().models.strong):
        provider, _, name = spec.partition(":")
        assert provider == "anthropic"
        assert name in known


def test_a_full_file() -> None:
    config = load_config(
        """
prds: "specs/**/*.{md,yml}"
paths: {source: src, tests: [tests, checks]}
sandbox: off
models:
  default: openai:small
  roles: {tester: human}
prices:
  small: {input: 1, output: 2.5}
budget: {usd_per_run: 5, minutes_per_run: 30}
gates:
  severity: {GRN402: off, RED104: error}
  mutation_ratio: 0.8
setup: ["pip install -e ."]
"""
    )
    assert config.prds == ("specs/**/*.md", "specs/**/*.yml")
    assert config.paths.source == ("src",)
    assert config.paths.tests == ("tests", "checks")
    assert config.sandbox == "off"
    assert config.prices["small"].output == 2.5
    assert config.budget.usd_per_run == 5
    assert config.gates.severity == {"GRN402": "off", "RED104": "error"}
    with pytest.raises(ValidationError):
        config.attempts = 5


def test_an_unknown_key_is_an_error_with_a_suggestion_and_its_line() -> None:
    error = refusal("attempts: 3\nbudget:\n  usd_per_rn: 3\n")
    assert error.lines() == [
        "error: unknown key `usd_per_rn` under `budget`; did you mean `usd_per_run`?",
        "where: .prd2pr.yml:3",
        "to do: Write `usd_per_run`, or remove the line.",
    ]


def test_dissimilar_unknown_key_lists_all_keys() -> None:
    error = refusal("prices:\n  m: {input: 1, output: 1, zzz: 2}\n")
    assert error.what == "unknown key `zzz` under `prices.m`"
    assert error.remedy == "The keys here are: input, output, cache_write, cache_read."


def test_the_first_problem_is_reported_and_the_others_counted() -> None:
    error = refusal("sandbox: maybe\nattempts: 0\nnonsense: 1\n")
    assert error.what == "`sandbox` cannot be `maybe` (and 2 more problems in this file)"
    assert error.remedy == "Allowed: 'auto', 'required', 'preferred' or 'off'."
    assert error.where == ".prd2pr.yml:1"


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("attempts: '4'", "`attempts` cannot be `4`", "whole number"),
        ("attempts: true", "`attempts` cannot be true", "whole number"),
        ("attempts: 11", "`attempts` cannot be 11", "10 or less"),
        ("budget: {usd_per_run: 0}", "`budget.usd_per_run` cannot be 0", "more than 0."),
        ("budget: {usd_per_run: -1}", "`budget.usd_per_run` cannot be -1", "more than 0."),
        ("budget:", "`budget` cannot be empty", "indented"),
        ("budget: 3", "`budget` cannot be 3", "indented"),
        ("prds: []", "`prds` cannot be empty", "not be empty"),
        ("prds: 3", "`prds` cannot be 3", "list"),
        ("prds: [a, 3]", "`prds.1` cannot be 3", "text"),
        ("test: {args: -x}", "`test.args` cannot be `-x`", "list"),
        ("docs: {enabled: yes}", "`docs.enabled` cannot be `yes`", "true or false"),
        ("gates: {severity: {RED104: of}}", "`gates.severity.RED104` cannot be `of`", "'error', 'warning' or 'off'"),
        ("gates: {severity: {red4: off}}", "`red4` is not a valid name under `gates.severity`", "RED104"),
        ("gates: {mutation_ratio: 1.5}", "`gates.mutation_ratio` cannot be 1.5", "1 or less"),
        ("prices: {m: {input: 1}}", "`prices.m.output` is missing", "Add `output`"),
        ("models: {default: ''}", "`models.default` cannot be empty", "not be empty"),
        ("branch_prefix: ../x", "`branch_prefix` cannot be `../x`", "as in prd2pr/"),
        ("branch_prefix: -x", "`branch_prefix` cannot be `-x`", "as in prd2pr/"),
        ("- a", "the file is not a list of `key: value` lines", "prd2pr schema"),
        ("a: &x 1", "anchors and aliases", "Write the value out"),
        ("attempts: 1\nattempts: 2", "duplicate key `attempts`", "line 1"),
    ],
)
def test_invalid_values_are_explained(text: str, what: str, remedy: str) -> None:
    error = refusal(text)
    assert what in error.what
    assert remedy in error.remedy
    assert error.where.startswith(".prd2pr.yml")


@pytest.mark.parametrize("severity", ["off", "warning"])
@pytest.mark.parametrize("code", sorted(UNSWITCHABLE))
def test_a_locked_rule_stays_an_error(code: str, severity: str) -> None:
    text = f"gates:\n  severity:\n    {code}: "
    assert load_config(text + "error").gates.severity == {code: "error"}
    error = refusal(text + severity)
    assert error.what.startswith(f"{code} cannot be set to `{severity}`")
    assert error.where == ".prd2pr.yml:3"


def test_an_unknown_finding_is_an_error_with_a_suggestion() -> None:
    assert refusal("gates: {severity: {GRM402: off}}").what == "there is no finding GRM402; did you mean GRN402?"


def test_every_key_is_described() -> None:
    rows = list_config_rows()
    keys = [key for key, *_ in rows]
    assert len(keys) == len(set(keys))
    assert all(description.endswith(".") for *_, description in rows)
    assert [row[:3] for row in rows if row[0] == "attempts"] == [("attempts", "whole number", "4")]
    assert {"budget.usd_per_run", "gates.severity", "prices.<name>.input", "test.python"} <= set(keys)


def test_the_schema_describes_every_key_and_allows_no_other() -> None:
    schema = build_json_schema()
    assert schema["title"] == "prd2pr configuration (.prd2pr.yml)"
    assert schema["additionalProperties"] is False
    for name, part in [("Config", schema), *schema["$defs"].items()]:
        assert part["additionalProperties"] is False, name
        assert all(field.get("description") for field in part["properties"].values()), name


def test_the_committed_schema_is_current() -> None:
    committed = (ROOT / "docs" / "prd2pr.schema.json").read_text(encoding="utf-8")
    current = json.dumps(build_json_schema(), indent=2, sort_keys=False) + "\n"
    assert committed == current, "run: prd2pr schema > docs/prd2pr.schema.json"


def test_the_demo_configuration_loads() -> None:
    text = (ROOT / "templates" / "demo" / "repo" / ".prd2pr.yml").read_text(encoding="utf-8")
    assert load_config(text).prds == ("prds/*.md",)
