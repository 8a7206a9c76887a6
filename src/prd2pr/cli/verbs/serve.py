"""`prd2pr serve`: run the App's server. Imports the server's modules only when they are needed."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.cli.process_hardening import hide_process
from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.server.backup import back_up_database, restore_database
from prd2pr.server.database import open_database
from prd2pr.server.settings import ServerSettings, read_settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

LIBRARIES = ("dbos", "fastapi", "sqlalchemy", "uvicorn")
INSTALL = "pip install 'prd2pr[server]'"
GRACE_SECONDS = 20


ServeMode = Callable[[ServerSettings], int]


def write_backup(settings: ServerSettings, target: Path) -> int:
    size = back_up_database(settings.database, target)
    sys.stdout.write(f"wrote    {target} ({size} bytes), a consistent copy of the database\n")
    return 0


def read_backup(settings: ServerSettings, source: Path) -> int:
    previous = restore_database(settings.database, source)
    open_database(settings.database).close()  # migrates an older schema now instead of at the next start
    sys.stdout.write(f"restored {source}\n")
    if previous is not None:
        sys.stdout.write(f"kept     {previous}, the previous database\n")
    return 0


def select_mode(options: argparse.Namespace) -> ServeMode | None:
    """Return the mode that the options select, or None to serve."""
    if options.words or options.rebuild:
        from prd2pr.cli.verbs.serve_modes.tokens import select_token_command

        return select_token_command(options)
    if options.setup is not None:
        from prd2pr.cli.verbs.serve_modes.setup import run_setup

        return lambda settings: run_setup(settings, Path(options.setup), options.organization or "")
    if options.demo is not None:
        from prd2pr.cli.verbs.serve_modes.demo import serve_demo

        return lambda settings: serve_demo(settings, Path(options.demo).absolute())
    if options.backup:
        return lambda settings: write_backup(settings, Path(options.backup))
    if options.restore:
        return lambda settings: read_backup(settings, Path(options.restore))
    return None


def main(options: argparse.Namespace) -> int:
    file = Path(options.config) if options.config else None
    settings = read_settings(vars(options), os.environ, file)
    require_libraries()
    if options.dead:
        return print_dead_letters(settings)
    if options.replay_dead is not None:
        return retry_dead_letters(settings, options.replay_dead)
    return (select_mode(options) or serve)(settings)


def require_libraries() -> None:
    """Check that the libraries are installed without importing them, because importing dbos alone is slow."""
    missing = [name for name in LIBRARIES if not is_installed(name)]
    if missing:
        raise SetupProblem(
            f"the server's libraries are not installed ({missing[0]} is missing)", where="prd2pr serve", remedy=INSTALL
        )


def is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # the module is blocked in sys.modules
        return False


def print_dead_letters(settings: ServerSettings) -> int:
    from prd2pr.domain.wording import clean_line
    from prd2pr.server.database import open_database
    from prd2pr.server.work.dead_letters import list_dead_letters

    with closing(open_database(settings.database)) as database:
        letters = list_dead_letters(database)
    for each in letters:
        sys.stdout.write(
            f"{each.guid}  {each.event}  {each.lane}  {each.attempts} attempts: {clean_line(each.reason)}\n"
        )
    sys.stdout.write(f"{len(letters)} failed.{' To retry them: prd2pr serve --replay-dead' if letters else ''}\n")
    return 0


def retry_dead_letters(settings: ServerSettings, wanted: str) -> int:
    from prd2pr.server.database import open_database
    from prd2pr.server.work.dead_letters import replay_dead_letters

    with closing(open_database(settings.database)) as database:
        replayed = replay_dead_letters(database, [wanted] if wanted else [])
    if wanted and not replayed:
        raise UsageProblem(
            f"no failed delivery {wanted}", where="--replay-dead", remedy="list them with: prd2pr serve --dead"
        )
    sys.stdout.write(f"{len(replayed)} will be retried by the running server, or when it starts.\n")
    return 0


def serve(settings: ServerSettings) -> int:
    from prd2pr.domain.secrets import Secrets
    from prd2pr.server.app import ServerContext, create_app
    from prd2pr.server.database import open_database
    from prd2pr.server.logs import configure_logging, list_secret_values
    from prd2pr.server.shutdown import DrainingServer, register_readiness_check

    hide_process()
    database = open_database(settings.database)
    configure_logging(Secrets.from_values(list_secret_values(settings)))
    try:
        app, stopping = create_app(ServerContext(settings, database)), threading.Event()
        register_readiness_check(app, stopping)
        run_server(DrainingServer(make_uvicorn_config(app, settings), stopping, settings.drain_seconds))
    finally:
        database.close()
    return 0


def make_uvicorn_config(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    import uvicorn

    from prd2pr.server.http_limits import BoundedHttpProtocol

    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        log_level="info",
        http=BoundedHttpProtocol,
        log_config=None,  # logs as JSON lines, like everything else
    )


def run_server(server: uvicorn.Server) -> None:
    """Run until stopped by a signal. uvicorn raises the signal again after its shutdown, which is not a failure."""
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: None)
    try:
        server.run()
    except SystemExit:  # uvicorn has printed the reason and uses its own exit statuses
        raise SetupProblem(
            "the server could not start", where="prd2pr serve", remedy="fix the problem described in the lines above"
        ) from None
