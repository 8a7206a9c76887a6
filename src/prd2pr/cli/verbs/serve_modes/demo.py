"""`prd2pr serve --demo`: run the demo next to a server that shows it live, on this machine only.

Only the model's replies are replayed. It needs no token, no key and no GitHub access.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware

from prd2pr.cli.verbs import demo
from prd2pr.cli.verbs.serve_modes.listener import (
    LOOPBACK,
    make_listener_url,
    make_quiet_server,
    open_listener,
    serve_until_stopped,
)
from prd2pr.errors import UsageProblem
from prd2pr.server.api.tokens import create_token
from prd2pr.server.app import ServerContext, create_app
from prd2pr.server.dashboard.access import PUBLIC_VISITOR
from prd2pr.server.database import open_database
from prd2pr.server.settings import ServerSettings
from prd2pr.server.token_scopes import Scope

REPOSITORY = "demo/shop"
# No webhook: the demo accepts only orders from its own pages.
PARTS = (
    "prd2pr.server.work.service:add_work_service",
    "prd2pr.server.projection.service:add_projection",
    "prd2pr.server.api.routes:add_api",
    "prd2pr.server.dashboard.setup:add_dashboard",
)
ENDING_SECONDS = 20  # time for the running demo to stop after its last proved phase

OPEN = """\
Dashboard:  {address}/
It shows {directory} while the demo runs there (output below). The model is a replayed transcript.
Everyone on this machine can view it. To retry a story or reset a breaker, log in with this token, valid for one day:
  {token}
Such a command is executed on this machine in the same way as a comment on GitHub. It starts no new run: the running
demo continues with it. Press Ctrl-C to stop; the same command resumes.

"""
PLAYED = """
The demo has finished{how}. The dashboard still shows it:  {address}/
"""


def serve_demo(settings: ServerSettings, directory: Path) -> int:
    if settings.host not in LOOPBACK:
        raise UsageProblem(
            "the demo needs no token, so it can only listen on this machine",
            where=f"--host {settings.host}",
            remedy="omit --host",
        )
    with open_listener(settings) as listener:
        demo.prepare_sample(directory, demo.SAMPLES["python"])
        private = directory / ".git" / "prd2pr"
        private.mkdir(exist_ok=True)
        address = make_listener_url(listener)
        demo_settings = make_demo_settings(settings, directory, private, address)
        with closing(open_database(demo_settings.database)) as database:
            app = restrict_hosts(create_app(ServerContext(demo_settings, database), PARTS, {"guest": PUBLIC_VISITOR}))
            token = create_token(database, "demo", Scope.OPERATE, (REPOSITORY,), days=1, now=datetime.now(UTC)).token
            sys.stdout.write(OPEN.format(address=address, directory=directory, token=token))
            sys.stdout.flush()
            with play_demo(directory, address):
                serve_until_stopped(make_quiet_server(app), listener)
    return 0


def make_demo_settings(settings: ServerSettings, directory: Path, private: Path, address: str) -> ServerSettings:
    """Return settings for the demo, ignoring those that are meant for a real server."""
    return ServerSettings(
        host=settings.host,
        port=settings.port,
        public_url=address,
        database=f"sqlite:///{private / 'server.db'}",
        repositories={REPOSITORY: str(directory)},
        orders_here=True,
        mirrors_directory=str(private / "mirrors"),
    )


def restrict_hosts(app: FastAPI) -> FastAPI:
    """Accept only loopback host names, to prevent DNS rebinding."""
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=sorted(LOOPBACK | {"[::1]"}))
    return app


@contextmanager
def play_demo(directory: Path, address: str) -> Iterator[None]:
    """Run the demo as a separate process. Ctrl-C reaches both processes."""
    player = subprocess.Popen([sys.executable, "-m", "prd2pr", "demo", "--dir", directory])
    stopping = threading.Event()

    def report_end() -> None:
        status = player.wait()
        if not stopping.is_set():
            how = "" if status == 0 else f" with status {status}"
            sys.stdout.write(PLAYED.format(how=how, address=address))
            sys.stdout.flush()

    watcher = threading.Thread(target=report_end, name="demo", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stopping.set()
        player.terminate()
        watcher.join(ENDING_SECONDS)
        player.kill()
        watcher.join()
