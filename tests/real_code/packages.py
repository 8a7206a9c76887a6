"""The pinned packages, and where their files are."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

INDEX = "https://pypi.org/simple"


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    needs: tuple[str, ...] = ()  # what its code and tests import

    @property
    def id(self) -> str:
        return f"{self.name}-{self.version}"


PACKAGES = (
    Package("sqlparse", "0.5.3"),
    Package("click", "8.1.8"),
    Package("markupsafe", "3.0.2"),
    Package("toolz", "1.0.0"),
    Package("tabulate", "0.9.0"),
    Package("cachetools", "5.5.2"),
    Package("boltons", "25.0.0"),
    Package("humanize", "4.12.3", ("freezegun",)),
    Package("semver", "3.0.4", ("pytest-cov",)),
)


def fetch(package: Package, cache: Path) -> Path:
    """Download and unpack the sdist once, and return its root directory."""
    place = cache / "sources" / package.id
    if not (place / ".complete").exists():
        content = _download(package)
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            packed.extractall(place, filter="data")
        (place / ".complete").touch()
    return next(each for each in sorted(place.iterdir()) if each.is_dir())


def _download(package: Package) -> bytes:
    """Download the sdist that the index lists, and check its digest."""
    with urllib.request.urlopen(f"{INDEX}/{package.name}/", timeout=60) as reply:
        links = re.findall(r'href="([^"]+)"', reply.read().decode())
    name = re.escape(f"{package.name}-{package.version}")
    wanted = re.compile(rf"/{name}\.tar\.gz#sha256=([0-9a-f]+)$", re.IGNORECASE)
    found = [(link, match.group(1)) for link in links if (match := wanted.search(link.replace("_", "-")))]
    if not found:
        raise LookupError(f"{package.id} has no sdist")
    (link, digest), *_ = found
    with urllib.request.urlopen(urljoin(f"{INDEX}/{package.name}/", link), timeout=120) as reply:
        content: bytes = reply.read()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{package.id} differs from the digest of the index")
    return content
