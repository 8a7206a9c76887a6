"""`prd2pr serve --setup DIR`: the page that creates the App, until it is created."""

from __future__ import annotations

import secrets
import sys
import threading
from pathlib import Path

from prd2pr.entry.serving.listening import address_of, bound, quiet_server, serve_until_stopped
from prd2pr.errors import SetupProblem
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.keeping import KEY, NewApp, prepare
from prd2pr.server.setup.manifest import creation_url, github_pages, installation_url
from prd2pr.server.setup.page import Setup, setup_app

LAST_LOOK_SECONDS = 3.0  # the browser still fetches the style of the last page

OPEN = """\
Open this address in a browser. It creates the App on {github} for {owner}:

  {address}/setup?word={word}

Nothing happens before you confirm it there. Ctrl-C ends this.
"""
DONE = """
The App {app} is there. Its key is {key}, readable by you alone.
Start the server:  set -a; . {file}; set +a; prd2pr serve
Install the App:   {install}
"""


def set_up(settings: ServerSettings, place: Path, organization: str = "") -> int:
    creation_url(settings, organization, "")  # a wrong name is said before anything is made
    prepare(place)
    made: list[tuple[NewApp, Path]] = []
    with bound(settings) as listening:

        def kept(app: NewApp, file: Path) -> None:
            made.append((app, file))
            ending = threading.Timer(LAST_LOOK_SECONDS, lambda: setattr(server, "should_exit", True))
            ending.daemon = True
            ending.start()

        word = secrets.token_urlsafe(24)
        port = listening.getsockname()[1]
        server = quiet_server(setup_app(Setup(settings, place, word, port, kept, organization)))
        owner = organization or "your own account"
        # Who listens everywhere is on this machine, too, and only there an address leads back for sure.
        address = address_of(listening).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        words = OPEN.format(github=github_pages(settings), owner=owner, address=address, word=word)
        sys.stdout.write(words)
        sys.stdout.flush()
        serve_until_stopped(server, listening)
    if not made:
        raise SetupProblem("the set-up ended before an App was created", remedy="the same command begins again")
    app, file = made[0]
    install = installation_url(settings, app.slug)
    sys.stdout.write(DONE.format(app=app.slug, key=place / KEY, file=file, install=install))
    return 0
