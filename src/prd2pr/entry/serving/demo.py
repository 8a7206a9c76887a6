"""`prd2pr serve --demo`: the demo played into a directory, and the server that shows it, on this machine alone.

Only the model's words are replayed. Nothing is asked for: no token, no key, no GitHub.
"""

from __future__ import annotations

import sys
from pathlib import Path

from starlette.middleware.trustedhost import TrustedHostMiddleware

from prd2pr.entry.serving.listening import LOOPBACK, address_of, bound, quiet_server, serve_until_stopped
from prd2pr.entry.verbs import demo, run
from prd2pr.errors import UsageProblem
from prd2pr.server.app import Parts, create_app
from prd2pr.server.database import open_database
from prd2pr.server.disk import DiskReading
from prd2pr.server.pages.access import READER
from prd2pr.server.settings import ServerSettings

REPOSITORY = "demo/shop"
# Neither webhook nor work: nothing can be sent to the demo, and it has nothing to do.
PARTS = ("prd2pr.server.projection.running", "prd2pr.server.api.routes", "prd2pr.server.pages.routes")

READY = """
The dashboard:  {address}/
It shows {directory}, whose model was a replayed transcript.
Everybody on this machine can look, and nobody can change anything. Ctrl-C ends it; the same command shows it again.
"""


def show_demo(settings: ServerSettings, directory: Path) -> int:
    if settings.host not in LOOPBACK:
        raise UsageProblem(
            "the demo shows its pages without a token, so it listens on this machine alone",
            where=f"--host {settings.host}",
            remedy="leave --host out",
        )
    with bound(settings) as listening:
        played = play(directory)
        if played:
            return played
        address = address_of(listening)
        told = settings.model_copy(update={"public_url": address})
        database = open_database(f"sqlite:///{directory / '.git' / 'prd2pr' / 'server.db'}")
        try:
            with DiskReading({REPOSITORY: directory}) as reading:
                app = create_app(Parts(told, database), PARTS, {"reading": reading, "guest": READER})
                # A page elsewhere must not reach it by a name of its own that leads here.
                app.add_middleware(TrustedHostMiddleware, allowed_hosts=sorted(LOOPBACK | {"[::1]"}))
                sys.stdout.write(READY.format(address=address, directory=directory))
                sys.stdout.flush()
                serve_until_stopped(quiet_server(app), listening)
        finally:
            database.close()
    return 0


def play(directory: Path) -> int:
    """To its end, or on from where it was left."""
    sample = demo.SAMPLES["python"]
    sys.stdout.write(demo.INTRODUCTION.format(about=sample.about))
    sys.stdout.flush()
    demo.prepare(directory, sample)
    return run.main(demo.run_options(directory, sample))
