"""Check the API against its OpenAPI description with schemathesis: no 5xx, no undescribed response.

    python tests/server/api_schema_check.py --examples 200        the long form: make schemathesis

schemathesis is installed apart from the suite's packages: its pytest plugin would be loaded by every pytest, including
those that tests start. Event streams do not end, so `/events` is covered by other tests only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
APART = Path(sys.prefix) / "apart"
REAL = {
    "key": ("octo/shop:shop-2", "octo/shop:shop-1"),
    "circuit_id": ("octo/shop:shop:green", "octo/shop:shop:red"),
    "order_id": ("0123456789abcdef",),
}
SHORT_NAMES = "/api/"


def is_installed() -> bool:
    return (APART / "schemathesis").is_dir()


def operations(url: str, *, both_names: bool) -> Iterator[Any]:
    """Each path under /api/v1; in the long form its short name too."""
    import schemathesis

    schema = schemathesis.openapi.from_dict(httpx.get(f"{url}/openapi.json").json())
    for result in schema.get_all_operations():
        operation = result.ok()
        if not operation.path.endswith("/events") and (both_names or operation.path.startswith(SHORT_NAMES)):
            yield operation


def check_operation(operation: Any, url: str, tokens: tuple[str, ...], examples: int) -> Counter[int]:
    """Count the responses by status; raise on any that is not as described."""
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    asked_for = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    seen: Counter[int] = Counter()
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    for mode in modes:

        @seed(7)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.generate),
        )
        @given(case=operation.as_strategy(generation_mode=mode), token=st.sampled_from(tokens), data=st.data())
        def ask(case: Any, token: str, data: st.DataObject) -> None:
            for name, known in REAL.items():
                # Random ids never exist, so use a known one half of the time.
                if name in (case.path_parameters or {}) and data.draw(st.booleans()):
                    case.path_parameters[name] = data.draw(st.sampled_from(known))
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            response = case.call(base_url=url, headers=headers, timeout=60)
            seen[response.status_code] += 1
            case.validate_response(response, checks=asked_for)

        if mode.is_positive or accepts_input(operation):
            ask()
    return seen


def accepts_input(operation: Any) -> bool:
    """Without input there is no invalid input."""
    parameters = (operation.path_parameters, operation.query, operation.headers, operation.body)
    return any(len(list(each)) for each in parameters)


def check_all(
    url: str, tokens: tuple[str, ...], examples: int, *, both_names: bool, tell: Callable[[str], None] = lambda _: None
) -> Counter[int]:
    sys.path.append(str(APART))
    found: Counter[int] = Counter()
    for operation in operations(url, both_names=both_names):
        seen = check_operation(operation, url, tokens, examples)
        tell(f"{operation.method.upper():<5} {operation.path:<40} {dict(sorted(seen.items()))}")
        found += seen
    return found


def main() -> int:
    from api_server import api_server
    from state_repo import OPEN, StateRepo, run

    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=200)
    examples = parser.parse_args().examples
    with tempfile.TemporaryDirectory() as place:
        shop = StateRepo(Path(place) / "shop")
        shop.put("shop", {"shop-1": "done", "shop-2": "blocked"}, circuits=[OPEN], runs=[run("r1")])
        with api_server(Path(place), {"octo/shop": shop.path}, api_rate_per_minute=10_000_000) as served:
            served.add_order(*REAL["order_id"])
            tokens = tuple(served.token(scope, ["octo/*" if scope != "admin" else "*"]) for scope in SCOPES)
            found = check_all(served.url, ("", "nonsense", *tokens * 4), examples, both_names=True, tell=print)
    print(f"{found.total()} requests, every answer as described: {dict(sorted(found.items()))}")
    return 0


SCOPES = ("read", "operate", "admin")

if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
