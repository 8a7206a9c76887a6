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


# Without pluggy, iniconfig and packaging, which pytest itself imports: their tests would run the installed copies.
PACKAGES = (
    Package("sqlparse", "0.5.3"),
    Package("click", "8.1.8", ("pytest<9",)),
    Package("markupsafe", "3.0.2"),
    Package("toolz", "1.0.0"),
    Package("tabulate", "0.9.0"),
    Package("cachetools", "5.5.2"),
    Package("boltons", "25.0.0", ("pytest<9",)),
    Package("humanize", "4.12.3", ("freezegun",)),
    Package("semver", "3.0.4", ("pytest-cov",)),
    Package("itsdangerous", "2.2.0", ("freezegun",)),
    Package("h11", "0.16.0"),
    Package("hyperframe", "6.1.0"),
    Package("hpack", "4.2.0", ("hypothesis",)),
    Package("marshmallow", "4.4.0", ("simplejson", "pytz")),
    Package("inflection", "0.5.1"),
    Package("wsproto", "1.3.2", ("h11",)),
    Package("asgiref", "3.13.0", ("pytest-asyncio",)),
    Package("priority", "2.0.0", ("hypothesis",)),
    Package("isodate", "0.7.2"),
    Package("rfc3986", "2.0.0"),
    Package("multiset", "3.2.0"),
    Package("pathspec", "1.1.1"),
    Package("cleo", "2.1.0", ("pytest-mock", "crashtest", "rapidfuzz")),
    Package("termcolor", "3.3.0", ("pytest-mock",)),
    Package("structlog", "26.1.0", ("freezegun", "time-machine", "pytest-asyncio", "pretend")),
    Package("python-slugify", "9.1.3", ("text-unidecode",)),
    Package("mistune", "3.4.0"),
    Package("aiosignal", "1.4.0", ("pytest-asyncio", "frozenlist", "pytest-cov")),
    Package("async-timeout", "5.0.1", ("pytest-asyncio", "pytest-cov")),
    Package("janus", "2.0.0", ("pytest-asyncio", "pytest-cov", "pytest-benchmark", "pytest-codspeed")),
    Package("parse", "1.22.4", ("pytest-cov",)),
    Package("schema", "0.7.8"),
    Package("voluptuous", "0.16.0"),
    Package("xmltodict", "1.0.4"),
    Package("itemadapter", "0.13.1", ("attrs",)),
    Package("netaddr", "1.3.0"),
    Package("tenacity", "9.2.1", ("pytest-asyncio", "tornado", "typeguard", "trio")),
    Package("simpleeval", "1.0.8"),
    Package("tinydb", "4.9.0", ("pyyaml",)),
    Package("glom", "25.12.0", ("boltons", "attrs", "face", "pyyaml")),
    Package("furl", "2.1.4", ("orderedmultidict", "six")),
)
# Only read by the static rules.
STATIC_PACKAGES = (
    Package("iniconfig", "2.3.1"),
    Package("pluggy", "1.7.0"),
    Package("more-itertools", "11.2.1"),
    Package("attrs", "26.1.0"),
    Package("packaging", "26.3"),
    Package("python-dateutil", "4.0.0"),
    Package("sortedcontainers", "2.4.0"),
    Package("aiolimiter", "1.3.0"),
    Package("aiofiles", "25.1.0"),
    Package("async-lru", "2.4.0"),
    Package("inflect", "7.6.0"),
    Package("wcwidth", "0.9.4"),
    Package("tomlkit", "0.15.2"),
    Package("tomli", "2.5.0"),
    Package("jsonpointer", "3.12"),
    Package("jsonpatch", "1.47"),
    Package("jmespath", "1.1.0"),
    Package("webargs", "8.7.1"),
    Package("environs", "15.2.0"),
    Package("apispec", "6.10.1"),
    Package("arrow", "1.4.0"),
    Package("croniter", "7.0.0"),
    Package("freezegun", "1.5.5"),
    Package("python-ulid", "4.1.0"),
    Package("natsort", "8.4.0"),
    Package("bidict", "0.24.1"),
    Package("pyrsistent", "0.20.0"),
    Package("hyperlink", "21.0.0"),
    Package("idna", "3.20"),
    Package("bitstring", "5.0.0"),
    Package("intervaltree", "3.2.1"),
    Package("portion", "2.6.3"),
    Package("filelock", "4.2.11"),
    Package("platformdirs", "4.14.5"),
    Package("crashtest", "0.4.1"),
    Package("markdown", "3.11.3"),
    Package("bleach", "6.4.0"),
    Package("prettytable", "3.18.0"),
    Package("texttable", "1.7.2"),
    Package("docopt", "0.6.2"),
    Package("python-dotenv", "1.2.4"),
    Package("configobj", "5.0.9"),
    Package("cerberus", "1.3.8"),
    Package("funcy", "2.1"),
    Package("pydash", "8.1.0"),
    Package("transitions", "0.9.3"),
    Package("blinker", "1.9.0"),
    Package("dictdiffer", "0.10.0"),
    Package("cssselect", "1.6.0"),
    Package("soupsieve", "4.1.1"),
    Package("w3lib", "2.5.0"),
    Package("oauthlib", "4.0.1"),
    Package("pyjwt", "2.15.1"),
    Package("rsa", "4.9.1"),
    Package("pyasn1", "0.6.5"),
    Package("validators", "0.36.0"),
    Package("email-validator", "2.4.0"),
    Package("uritemplate", "4.2.0"),
    Package("zipp", "4.1.2"),
    Package("path", "17.1.1"),
    Package("decorator", "5.3.1"),
    Package("deprecated", "1.3.1"),
    Package("backoff", "2.2.1"),
    Package("pybreaker", "1.4.1"),
    Package("cachelib", "0.17.0"),
    Package("pyparsing", "3.3.3"),
    Package("asttokens", "3.0.2"),
    Package("executing", "2.3.0"),
    Package("pure-eval", "0.2.4"),
    Package("astor", "0.8.1"),
    Package("parso", "0.8.7"),
    Package("distlib", "0.4.4"),
    Package("responses", "0.26.3"),
    Package("requests-mock", "1.12.1"),
    Package("deepdiff", "9.1.0"),
    Package("jaraco.functools", "4.6.0"),
    Package("jaraco.text", "4.3.0"),
    Package("loguru", "0.7.3"),
    Package("werkzeug", "3.1.9"),
    Package("jinja2", "3.1.6"),
    Package("itemloaders", "1.5.0"),
    Package("cattrs", "26.2.1"),
    Package("pyhamcrest", "2.1.0"),
    Package("sqlitedict", "2.1.0"),
    Package("voluptuous-serialize", "2.7.0"),
    Package("lark", "1.3.1"),
    Package("ply", "3.11"),
    Package("mako", "1.4.3"),
    Package("wtforms", "3.3.2"),
    Package("traitlets", "5.16.1"),
    Package("python-statemachine", "3.2.2"),
    Package("dacite", "1.9.2"),
    Package("mashumaro", "3.23"),
    Package("typeguard", "4.6.0"),
    Package("typing-extensions", "4.16.0"),
    Package("pytimeparse", "1.1.10"),
    Package("humanfriendly", "10.0"),
    Package("aniso8601", "10.0.1"),
    Package("ciso8601", "2.4.1"),
    Package("babel", "2.18.0"),
    Package("ulid-py", "1.1.0"),
    Package("python-json-logger", "4.2.0"),
    Package("circuitbreaker", "2.1.3"),
    Package("cached-property", "2.0.1"),
    Package("hijridate", "2.6.0"),
    Package("apscheduler", "3.11.3"),
    Package("pytz", "2026.6"),
    Package("flask", "3.1.3"),
    Package("starlette", "1.10.0"),
    Package("bottle", "0.13.4"),
    Package("falcon", "4.4.0"),
    Package("tabledata", "1.3.5"),
    Package("pathvalidate", "3.3.1"),
    Package("sqlglot", "30.30.0"),
    Package("pypika", "0.51.1"),
    Package("peewee", "4.5.3"),
    Package("dataclasses-json", "0.6.7"),
    Package("fastjsonschema", "2.22.3"),
    Package("jsonschema", "4.26.0"),
    Package("referencing", "0.37.0"),
    Package("dnspython", "2.9.2"),
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
