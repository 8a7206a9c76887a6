"""A language without a parser. Its tests are run, but nothing else is checked."""

from __future__ import annotations

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path
from prd2pr.languages.base import Language

LANGUAGE = Language(
    name="any",
    file_endings=("",),
    is_test_file=lambda path: classify_path(path) is PathKind.TEST,
    measure_source=lambda texts: {
        "lines": sum(bool(line.strip()) for text in texts.values() for line in text.splitlines())
    },
    normalize_program=lambda _, text: " ".join(text.split()),
    name_module=lambda path: path.rpartition(".")[0].replace("/", "."),
)
