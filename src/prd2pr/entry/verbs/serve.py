"""`prd2pr serve`: the App's server. Everything that it needs is loaded here and nowhere else."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.entry.hiding import hide_process
from prd2pr.entry.serving.ways import way
from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.server.settings import ServerSettings, read_settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

LIBRARIES = ("dbos", "fastapi", "sqlalchemy", "uvicorn")
INSTALL = "pip install 'prd2pr[server]'"
GRACE_SECONDS = 20


def main(options: argparse.Namespace) -> int:
    file = Path(options.config) if options.config else None
    settings = read_settings(vars(options), os.environ, file)
    need_libraries()
    if options.dead:
        return tell_dead(settings)
    if options.replay_dead is not None:
        return replay_dead(settings, options.replay_dead)
    return (way(options) or serve)(settings)


def need_libraries() -> None:
    """Looked for, not loaded: dbos takes longer than all others, and nobody who delivers waits for it."""
    missing = [name for name in LIBRARIES if not is_installed(name)]
    if missing:
        raise SetupProblem(
            f"the server's libraries are not installed ({missing[0]} is missing)", where="prd2pr serve", remedy=INSTALL
        )


def is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # somebody has forbidden it
        return False


def tell_dead(settings: ServerSettings) -> int:
    from prd2pr.core.wording import plain
    from prd2pr.server.database import open_database
    from prd2pr.server.work.dead_letters import dead_letters

    with closing(open_database(settings.database)) as database:
        letters = dead_letters(database)
    for each in letters:
        sys.stdout.write(f"{each.guid}  {each.event}  {each.lane}  {each.attempts} tries: {plain(each.reason)}\n")
    sys.stdout.write(f"{len(letters)} given up.{' Try them again: prd2pr serve --replay-dead' if letters else ''}\n")
    return 0


def replay_dead(settings: ServerSettings, wanted: str) -> int:
    from prd2pr.server.database import open_database
    from prd2pr.server.work.dead_letters import replay

    with closing(open_database(settings.database)) as database:
        replayed = replay(database, [wanted] if wanted else [])
    if wanted and not replayed:
        raise UsageProblem(
            f"no delivery {wanted} was given up", where="--replay-dead", remedy="prd2pr serve --dead lists them"
        )
    sys.stdout.write(f"{len(replayed)} will be tried again by the server that runs, or by the next one.\n")
    return 0


def serve(settings: ServerSettings) -> int:
    from prd2pr.core.said.leaks import Secrets
    from prd2pr.server.app import Parts, create_app
    from prd2pr.server.database import open_database
    from prd2pr.server.logs import secrets_in, write_logs
    from prd2pr.server.stopping import Draining, tell_readiness

    hide_process()
    database = open_database(settings.database)
    write_logs(Secrets.of(secrets_in(settings)))
    try:
        app, stopping = create_app(Parts(settings, database)), threading.Event()
        tell_readiness(app, stopping)
        run(Draining(uvicorn_config(app, settings), stopping, settings.drain_seconds))
    finally:
        database.close()
    return 0


def uvicorn_config(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    import uvicorn

    from prd2pr.server.heads import BoundedHeads

    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        log_level="info",
        http=BoundedHeads,
        log_config=None,  # as JSON lines, like everything else
    )


def run(server: uvicorn.Server) -> None:
    """uvicorn hands the signal on once it has shut down, and a stop that was asked for is no failure."""
    for sent in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sent, lambda *_: None)
    try:
        server.run()
    except SystemExit:  # uvicorn has said why, and has exit statuses of its own
        raise SetupProblem(
            "the server could not start", where="prd2pr serve", remedy="the lines above say why; mend that"
        ) from None
