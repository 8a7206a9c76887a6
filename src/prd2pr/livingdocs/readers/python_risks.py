"""Find risky calls, hard-coded secrets and environment variables in a Python syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from prd2pr.languages.python.test_model.module import get_dotted_name, resolve_name
from prd2pr.livingdocs.readers.node_kinds import NodeKinds
from prd2pr.livingdocs.readers.source_file import CodeRisk, EnvRead

_RUNS_TEXT = "executes text as code"
_UNPACKS = "deserializes bytes that can execute any code"
_SHELL = "passes a string to the shell"
_WEAK = "a hash that is broken for signatures and passwords"

# Why a call is listed, by the full name of the called function.
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
    "yaml.unsafe_load": "creates any object that the text names",
    "yaml.full_load": "creates objects that the text names",
    "tempfile.mktemp": "returns a name that another process may use first",
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
_PLACEHOLDER = re.compile(
    r"(?:|none|null|x+|\*+|\.+|<.*>|\$?\{.*\}|changeme|.*\b(?:example|placeholder)\b.*)", re.IGNORECASE
)


def is_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


def find_risks(kinds: NodeKinds, names: Mapping[str, str]) -> tuple[CodeRisk, ...]:
    calls = kinds.of(ast.Call)
    found = [
        CodeRisk(*risk, call.lineno)
        for call in calls
        for risk in _classify_call(call, resolve_name(get_dotted_name(call.func), names))
    ]
    found += [
        CodeRisk(f"{name} = …", "a secret in the code itself", line) for name, line in _find_hardcoded_secrets(kinds)
    ]
    return tuple(sorted(found, key=lambda risk: (risk.line, risk.call)))


def _classify_call(call: ast.Call, name: str) -> Iterator[tuple[str, str]]:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else name.rpartition(".")[2]
    if name in RISKY_CALLS and not (method in {"md5", "sha1"} and _has_flag(call, "usedforsecurity", value=False)):
        yield f"{name}()", RISKY_CALLS[name]
    elif name.startswith("subprocess.") and method in _STARTERS and _has_flag(call, "shell", value=True):
        yield f"{name}(shell=True)", _SHELL
    elif name == "yaml.load" and not _has_safe_loader(call):
        yield "yaml.load()", "creates any object that the text names, unless a safe loader is used"
    elif name.partition(".")[0] in {"requests", "httpx"} and _has_flag(call, "verify", value=False):
        yield f"{name}(verify=False)", "trusts any certificate"
    elif method == "run" and _has_flag(call, "debug", value=True):
        yield f"{name}(debug=True)", "opens the debugger to anyone who can reach it"
    elif method in {"execute", "executemany"} and call.args and _is_built_from_parts(call.args[0]):
        yield f"{name or method}(…)", "SQL built from strings"


def _has_flag(call: ast.Call, name: str, *, value: bool) -> bool:
    return any(
        each.arg == name and isinstance(each.value, ast.Constant) and each.value.value is value
        for each in call.keywords
    )


def _has_safe_loader(call: ast.Call) -> bool:
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "Loader")]
    return any(get_dotted_name(each).rpartition(".")[2] in _SAFE_LOADERS for each in given)


def _is_built_from_parts(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return any(isinstance(side, ast.Constant | ast.JoinedStr | ast.BinOp) for side in (node.left, node.right))
    return isinstance(node, ast.Call) and get_dotted_name(node.func).endswith(".format")


def _find_hardcoded_secrets(kinds: NodeKinds) -> Iterator[tuple[str, int]]:
    """Yield the names of variables that contain a secret, never the values."""
    assigned: list[ast.Assign | ast.AnnAssign] = [*kinds.of(ast.Assign), *kinds.of(ast.AnnAssign)]
    for node in assigned:
        if isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node.value.value
            if isinstance(value, str) and len(value) >= 6 and not _PLACEHOLDER.fullmatch(value):
                found = (get_dotted_name(target).rpartition(".")[2] for target in targets)
                yield from (
                    (name, node.lineno) for name in found if is_secret_name(name) and not _is_setting_name(value)
                )


def _is_setting_name(value: str) -> bool:
    """Return whether the value is the name of a setting, not a secret, as in `TOKEN = "GITHUB_TOKEN"`."""
    return value.replace("-", "_").isidentifier() and (value.isupper() or is_secret_name(value))


# --- environment variables --------------------------------------------------------------------------------------------


def find_env_reads(kinds: NodeKinds, names: Mapping[str, str]) -> tuple[EnvRead, ...]:
    nodes: list[ast.Call | ast.Subscript] = [*kinds.of(ast.Call), *kinds.of(ast.Subscript)]
    found = (each for node in nodes for each in _read_env_access(node, names))
    return tuple(sorted(found, key=lambda read: (read.line, read.name)))


def _read_env_access(node: ast.Call | ast.Subscript, names: Mapping[str, str]) -> Iterator[EnvRead]:
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        is_read = isinstance(node.ctx, ast.Load) and resolve_name(get_dotted_name(node.value), names) == "os.environ"
        if is_read and isinstance(key, str):
            yield EnvRead(key, node.lineno, required=True)
        return
    if resolve_name(get_dotted_name(node.func), names) not in {"os.environ.get", "os.getenv", "os.environ.setdefault"}:
        return
    if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
        default = node.args[1] if len(node.args) > 1 else None
        fallback = default.value if isinstance(default, ast.Constant) and isinstance(default.value, str) else ""
        yield EnvRead(node.args[0].value, node.lineno, required=False, default=fallback)
