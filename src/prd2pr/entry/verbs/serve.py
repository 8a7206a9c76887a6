"""`prd2pr serve`: the App's server. Everything that it needs is loaded here and nowhere else."""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.errors import SetupProblem
from prd2pr.server.settings import ServerSettings, read_settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

INSTALL = "pip install 'prd2pr[server]'"
GRACE_SECONDS = 20


def main(options: argparse.Namespace) -> int:
    file = Path(options.config) if options.config else None
    return serve(read_settings(vars(options), os.environ, file))


def serve(settings: ServerSettings) -> int:
    try:
        import uvicorn

        from prd2pr.server.app import Parts, create_app
        from prd2pr.server.database import open_database
    except ImportError as error:
        raise SetupProblem(
            f"the server's libraries are not installed ({error.name} is missing)", where="prd2pr serve", remedy=INSTALL
        ) from None
    database = open_database(settings.database)
    try:
        run(uvicorn.Server(uvicorn_config(create_app(Parts(settings, database)), settings)))
    finally:
        database.close()
    return 0


def uvicorn_config(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    import uvicorn

    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        log_level="info",
    )


def run(server: uvicorn.Server) -> None:
    """uvicorn hands the signal on once it has shut down, and a stop that was asked for is no failure."""
    for sent in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sent, lambda *_: None)
    server.run()
