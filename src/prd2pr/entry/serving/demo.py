"""`prd2pr serve --demo`: the demo, played beside a server that shows it live, on this machine alone.

Only the model's words are replayed. Nothing is asked for: no token, no key, no GitHub.
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

from prd2pr.core.access import Scope
from prd2pr.entry.serving.listening import LOOPBACK, address_of, bound, quiet_server, serve_until_stopped
from prd2pr.entry.verbs import demo
from prd2pr.errors import UsageProblem
from prd2pr.server.api.tokens import issue
from prd2pr.server.app import Parts, create_app
from prd2pr.server.database import open_database
from prd2pr.server.pages.access import READER
from prd2pr.server.settings import ServerSettings

REPOSITORY = "demo/shop"
# No webhook: nothing can be sent to the demo. What it has to do is what somebody orders on its pages.
PARTS = (
    "prd2pr.server.work.running",
    "prd2pr.server.projection.running",
    "prd2pr.server.api.routes",
    "prd2pr.server.pages.routes",
)
ENDING_SECONDS = 20  # for what is being played: it stops at its last proven phase

OPEN = """\
The dashboard:  {address}/
It shows {directory} while the demo is played there, below: a replayed transcript stands in for the model.
Everybody on this machine can look. To order a retry or a reset as well, log in with this token, which holds a day:
  {token}
Such an order is carried out on this machine, by the flow that comments go through. There is no GitHub here, so no run
is started for it: whoever plays the demo goes on by it. Ctrl-C ends it; the same command goes on.

"""
PLAYED = """
The demo has ended{how}. The dashboard goes on showing it:  {address}/
"""


def show_demo(settings: ServerSettings, directory: Path) -> int:
    if settings.host not in LOOPBACK:
        raise UsageProblem(
            "the demo shows its pages without a token, so it listens on this machine alone",
            where=f"--host {settings.host}",
            remedy="leave --host out",
        )
    with bound(settings) as listening:
        demo.prepare(directory, demo.SAMPLES["python"])
        private = directory / ".git" / "prd2pr"
        private.mkdir(exist_ok=True)
        address = address_of(listening)
        told = settings_of(settings, directory, private, address)
        with closing(open_database(told.database)) as database:
            app = guarded(create_app(Parts(told, database), PARTS, {"guest": READER}))
            token = issue(database, "demo", Scope.OPERATE, (REPOSITORY,), days=1, now=datetime.now(UTC)).token
            sys.stdout.write(OPEN.format(address=address, directory=directory, token=token))
            sys.stdout.flush()
            with playing(directory, address):
                serve_until_stopped(quiet_server(app), listening)
    return 0


def settings_of(settings: ServerSettings, directory: Path, private: Path, address: str) -> ServerSettings:
    """Whatever else is set belongs to another server."""
    return ServerSettings(
        host=settings.host,
        port=settings.port,
        public_url=address,
        database=f"sqlite:///{private / 'server.db'}",
        repositories={REPOSITORY: str(directory)},
        orders_here=True,
        mirrors_directory=str(private / "mirrors"),
    )


def guarded(app: FastAPI) -> FastAPI:
    """A page elsewhere must not reach it by a name of its own that leads here."""
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=sorted(LOOPBACK | {"[::1]"}))
    return app


@contextmanager
def playing(directory: Path, address: str) -> Iterator[None]:
    """A process of its own, as always: the server runs neither a model nor tests. Ctrl-C reaches both."""
    player = subprocess.Popen([sys.executable, "-m", "prd2pr", "demo", "--dir", directory])
    stopping = threading.Event()

    def tell() -> None:
        status = player.wait()
        if not stopping.is_set():
            how = "" if status == 0 else f" with status {status}"
            sys.stdout.write(PLAYED.format(how=how, address=address))
            sys.stdout.flush()

    watching = threading.Thread(target=tell, name="demo", daemon=True)
    watching.start()
    try:
        yield
    finally:
        stopping.set()
        player.terminate()
        watching.join(ENDING_SECONDS)
        player.kill()
        watching.join()
