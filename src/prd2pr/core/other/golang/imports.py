"""What a Go file imports, and which of it is the project's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.syntax import children, line_of, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

# Libraries that tests are written with: nothing of them is what is tested.
_FOR_TESTS = ("github.com/stretchr/testify", "github.com/google/go-cmp", "gotest.tools", "github.com/matryer/is",
              "github.com/onsi/", "go.uber.org/goleak", "go.uber.org/mock", "github.com/golang/mock")  # fmt: skip


@dataclass(frozen=True)
class Imported:
    local: str  # the name in this file
    path: str
    line: int

    @property
    def is_standard(self) -> bool:
        return "." not in self.path.partition("/")[0]

    @property
    def is_own(self) -> bool:
        """The project's, or a library of its; module paths begin with a host, those of the standard library do not."""
        return not self.is_standard and not self.path.startswith(_FOR_TESTS)


def imports_in(root: Node) -> tuple[Imported, ...]:
    return tuple(_imports(root))


def _imports(root: Node) -> Iterator[Imported]:
    for declaration in children(root, "import_declaration"):
        for spec in walk(declaration):
            if spec.type == "import_spec":
                path = text_of(part(spec, "path")).strip('"`')
                yield Imported(text_of(part(spec, "name")) or last_of(path), path, line_of(spec))


def last_of(path: str) -> str:
    """The package's name, as far as its path tells: `gopkg.in/yaml.v3` is `yaml`, `example.com/shop/v2` is `shop`."""
    parts = path.split("/")
    last = parts[-2] if len(parts) > 1 and parts[-1].startswith("v") and parts[-1][1:].isdigit() else parts[-1]
    return last.partition(".")[0].removeprefix("go-")


def local_names(root: Node, path: str) -> frozenset[str]:
    """By which names this file knows that package."""
    return frozenset(each.local for each in imports_in(root) if each.path == path)
