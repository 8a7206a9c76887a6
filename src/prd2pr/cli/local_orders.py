"""Execute a server's orders on a local repository: `python -m prd2pr.cli.local_orders DIR`.

Orders are read from stdin, and results are written to stdout. The server runs this as a separate process for
repositories on its own machine, since it never writes to a branch itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace

from prd2pr.cli.active_prds import select_prds
from prd2pr.cli.context import open_context, open_repository
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import make_local_session
from prd2pr.errors import Prd2prError, Stopped
from prd2pr.github.local_orders import LocalOrderResult, execute_local_order, refuse_local_order
from prd2pr.state.orders import Order, parse_orders

SENDER = "this server"
MAX_INPUT = 100_000


def main(arguments: list[str]) -> int:
    directory = arguments[0]
    orders = parse_orders(sys.stdin.read(MAX_INPUT))
    try:
        results = [asdict(each) for each in run_orders(directory, orders)]
    except Prd2prError as error:
        sys.stderr.write(" ".join(error.lines()) + "\n")
        return 1
    sys.stdout.write(json.dumps(results) + "\n")
    return 0


def run_orders(directory: str, orders: tuple[Order, ...]) -> Iterator[LocalOrderResult]:
    """Execute the orders one by one. A failing order yields its error and does not stop the others."""
    for order in orders:
        try:
            yield run_order(directory, order)
        except Stopped:
            raise
        except Prd2prError as error:
            yield refuse_local_order(order, error)


def run_order(directory: str, order: Order) -> LocalOrderResult:
    options = argparse.Namespace(repo=directory, prd=None, model=None, record=None)
    with open_repository(directory) as git, Terminal(sys.stderr) as progress:
        prd = select_prds(git, order.prd)[0].prd
        # Not even the project's interpreter may run: it could read the server's App key.
        repository = replace(open_context(directory, None, many=False).repository, runs_tests=False)
        session = make_local_session(repository, prd, options, progress)
        with session.git:
            return execute_local_order(session, order, SENDER)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
