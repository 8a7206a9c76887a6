"""Calls that can do harm, and settings that are read from outside, found in a Python syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from prd2pr.core.living.node_kinds import NodeKinds
from prd2pr.core.living.source_file import EnvRead, Risk
from prd2pr.core.testfacts_model import dotted, resolve

_RUNS_TEXT = "runs text as code"
_UNPACKS = "unpacks bytes that can run anything"
_SHELL = "hands a line to the shell"
_WEAK = "a hash that is broken for signatures and passwords"

# Full name of what is called -> why it is listed.
RISKY_CALLS: dict[str, str] = {
    "eval": _RUNS_TEXT,
    "exec": _RUNS_TEXT,
    "builtins.eval": _RUNS_TEXT,
    "builtins.exec": _RUNS_TEXT,
    "pickle.load": _UNPACKS,
    "pickle.loads": _UNPACKS,
    "pickle.Unpickler": _UNPACKS,
    "dill.load": _UNPACKS,
    "dill.loads": _UNPACKS,
    "marshal.load": _UNPACKS,
    "marshal.loads": _UNPACKS,
    "shelve.open": _UNPACKS,
    "os.system": _SHELL,
    "os.popen": _SHELL,
    "subprocess.getoutput": _SHELL,
    "subprocess.getstatusoutput": _SHELL,
    "yaml.unsafe_load": "makes any object that the text asks for",
    "yaml.full_load": "makes objects that the text asks for",
    "tempfile.mktemp": "names a file that somebody else may make first",
    "hashlib.md5": _WEAK,
    "hashlib.sha1": _WEAK,
    "ssl._create_unverified_context": "trusts any certificate",
}
_SAFE_LOADERS = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")
_STARTERS = ("run", "call", "check_call", "check_output", "Popen")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|secret|token|credentials?|(?:api|private|secret|access|auth|signing)_?key)$",
    re.IGNORECASE,
)
_STANDS_FOR_NOTHING = re.compile(
    r"(?:|none|null|x+|\*+|\.+|<.*>|\$?\{.*\}|changeme|.*\b(?:example|placeholder)\b.*)", re.IGNORECASE
)


def looks_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


def risks_in(kinds: NodeKinds, names: Mapping[str, str]) -> tuple[Risk, ...]:
    calls = kinds.of(ast.Call)
    found = [Risk(*told, call.lineno) for call in calls for told in _risk(call, resolve(dotted(call.func), names))]
    found += [Risk(f"{name} = …", "a secret in the code itself", line) for name, line in _kept_secrets(kinds)]
    return tuple(sorted(found, key=lambda risk: (risk.line, risk.call)))


def _risk(call: ast.Call, name: str) -> Iterator[tuple[str, str]]:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else name.rpartition(".")[2]
    if name in RISKY_CALLS and not (method in {"md5", "sha1"} and _is_given(call, "usedforsecurity", value=False)):
        yield f"{name}()", RISKY_CALLS[name]
    elif name.startswith("subprocess.") and method in _STARTERS and _is_given(call, "shell", value=True):
        yield f"{name}(shell=True)", _SHELL
    elif name == "yaml.load" and not _loads_safely(call):
        yield "yaml.load()", "makes any object that the text asks for, unless a safe loader is named"
    elif name.partition(".")[0] in {"requests", "httpx"} and _is_given(call, "verify", value=False):
        yield f"{name}(verify=False)", "trusts any certificate"
    elif method == "run" and _is_given(call, "debug", value=True):
        yield f"{name}(debug=True)", "opens the debugger to whoever can reach it"
    elif method in {"execute", "executemany"} and call.args and _is_put_together(call.args[0]):
        yield f"{name or method}(…)", "SQL put together from text"


def _is_given(call: ast.Call, name: str, *, value: bool) -> bool:
    return any(
        each.arg == name and isinstance(each.value, ast.Constant) and each.value.value is value
        for each in call.keywords
    )


def _loads_safely(call: ast.Call) -> bool:
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "Loader")]
    return any(dotted(each).rpartition(".")[2] in _SAFE_LOADERS for each in given)


def _is_put_together(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return any(isinstance(side, ast.Constant | ast.JoinedStr | ast.BinOp) for side in (node.left, node.right))
    return isinstance(node, ast.Call) and dotted(node.func).endswith(".format")


def _kept_secrets(kinds: NodeKinds) -> Iterator[tuple[str, int]]:
    """Names only: the values stay where they are."""
    assigned: list[ast.Assign | ast.AnnAssign] = [*kinds.of(ast.Assign), *kinds.of(ast.AnnAssign)]
    for node in assigned:
        if isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node.value.value
            if isinstance(value, str) and len(value) >= 6 and not _STANDS_FOR_NOTHING.fullmatch(value):
                told = (dotted(target).rpartition(".")[2] for target in targets)
                yield from ((name, node.lineno) for name in told if looks_secret(name) and not _names_a_key(value))


def _names_a_key(value: str) -> bool:
    """`TOKEN = "GITHUB_TOKEN"`, `password = "password"`: the name of a setting or field, not a secret."""
    return value.replace("-", "_").isidentifier() and (value.isupper() or looks_secret(value))


# --- settings from outside --------------------------------------------------------------------------------------------


def env_reads(kinds: NodeKinds, names: Mapping[str, str]) -> tuple[EnvRead, ...]:
    nodes: list[ast.Call | ast.Subscript] = [*kinds.of(ast.Call), *kinds.of(ast.Subscript)]
    found = (each for node in nodes for each in _env_read(node, names))
    return tuple(sorted(found, key=lambda read: (read.line, read.name)))


def _env_read(node: ast.Call | ast.Subscript, names: Mapping[str, str]) -> Iterator[EnvRead]:
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        is_read = isinstance(node.ctx, ast.Load) and resolve(dotted(node.value), names) == "os.environ"
        if is_read and isinstance(key, str):
            yield EnvRead(key, node.lineno, required=True)
        return
    if resolve(dotted(node.func), names) not in {"os.environ.get", "os.getenv", "os.environ.setdefault"}:
        return
    if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
        default = node.args[1] if len(node.args) > 1 else None
        told = default.value if isinstance(default, ast.Constant) and isinstance(default.value, str) else ""
        yield EnvRead(node.args[0].value, node.lineno, required=False, default=told)
