"""Imports of a Go file, and which of them belong to the project."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_field, get_line, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

# Test libraries, which are not the code under test.
_TEST_LIBRARIES = ("github.com/stretchr/testify", "github.com/google/go-cmp", "gotest.tools", "github.com/matryer/is",
              "github.com/onsi/", "go.uber.org/goleak", "go.uber.org/mock", "github.com/golang/mock")  # fmt: skip


@dataclass(frozen=True)
class ImportedName:
    local: str  # name in this file
    path: str
    line: int

    @property
    def is_standard(self) -> bool:
        return "." not in self.path.partition("/")[0]

    @property
    def is_own(self) -> bool:
        """Whether the imported package belongs to the project or to a library, whose path starts with a host name."""
        return not self.is_standard and not self.path.startswith(_TEST_LIBRARIES)


def read_imports(root: Node) -> tuple[ImportedName, ...]:
    return tuple(_walk_imports(root))


def _walk_imports(root: Node) -> Iterator[ImportedName]:
    for declaration in list_children(root, "import_declaration"):
        for spec in walk(declaration):
            if spec.type == "import_spec":
                path = get_text(get_field(spec, "path")).strip('"`')
                yield ImportedName(get_text(get_field(spec, "name")) or guess_package_name(path), path, get_line(spec))


def guess_package_name(path: str) -> str:
    """Guess the name of a package from its path: `yaml` for `gopkg.in/yaml.v3`, `shop` for `example.com/shop/v2`."""
    parts = path.split("/")
    last = parts[-2] if len(parts) > 1 and parts[-1].startswith("v") and parts[-1][1:].isdigit() else parts[-1]
    return last.partition(".")[0].removeprefix("go-")


def find_local_names(root: Node, path: str) -> frozenset[str]:
    """Return the names under which the file imports the package."""
    return frozenset(each.local for each in read_imports(root) if each.path == path)
