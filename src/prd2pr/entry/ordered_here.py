"""`python -m prd2pr.entry.ordered_here DIR`: orders on stdin, what came of each on stdout.

The server calls it for repositories of its own machine, as a process of its own: it never writes to a branch itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from prd2pr.core.orders import Order, read_orders
from prd2pr.entry.ground import open_repository
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.under_way import chosen
from prd2pr.entry.wiring import open_session
from prd2pr.errors import Prd2prError, Stopped
from prd2pr.flows.orders_here import Told, carried_out_here, refused

SENDER = "this server"
LONGEST_INPUT = 100_000


def main(arguments: list[str]) -> int:
    directory = arguments[0]
    orders = read_orders(sys.stdin.read(LONGEST_INPUT))
    try:
        made = [asdict(each) for each in carried_out(directory, orders)]
    except Prd2prError as problem:
        sys.stderr.write(" ".join(problem.lines()) + "\n")
        return 1
    sys.stdout.write(json.dumps(made) + "\n")
    return 0


def carried_out(directory: str, orders: tuple[Order, ...]) -> Iterator[Told]:
    """Each on its own: one that is about nothing that is there is answered, and the next has its turn."""
    for order in orders:
        try:
            yield carried_out_in(directory, order)
        except Stopped:
            raise
        except Prd2prError as problem:
            yield refused(order, problem)


def carried_out_in(directory: str, order: Order) -> Told:
    wired = argparse.Namespace(repo=directory, prd=None, model=None, record=None)
    with open_repository(directory) as git, Terminal(sys.stderr) as progress:
        prd = chosen(git, order.prd)[0].prd
        session = open_session(wired, progress, prd)
        with session.git:
            return carried_out_here(session, order, SENDER)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
