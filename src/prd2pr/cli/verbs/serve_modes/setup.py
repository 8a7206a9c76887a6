"""`prd2pr serve --setup DIR`: serve the page that creates the GitHub App, until the App is created."""

from __future__ import annotations

import secrets
import sys
import threading
from pathlib import Path

from prd2pr.cli.verbs.serve_modes.listener import (
    make_listener_url,
    make_quiet_server,
    open_listener,
    serve_until_stopped,
)
from prd2pr.errors import SetupProblem
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.app_credentials import KEY_FILE, NewApp, prepare_credentials_directory
from prd2pr.server.setup.manifest import make_creation_url, make_github_web_url, make_installation_url
from prd2pr.server.setup.page import SetupFlow, create_setup_app

LAST_LOOK_SECONDS = 3.0  # the browser still fetches the style sheet of the last page

OPEN = """\
Open this address in a browser. It creates the App on {github} for {owner}:

  {address}/setup?word={word}

Nothing is created until you confirm it there. Press Ctrl-C to stop.
"""
DONE = """
Created the App {app}. Its key is {key}, readable only by you.
Start the server:  set -a; . {file}; set +a; prd2pr serve
Install the App:   {install}
"""


def run_setup(settings: ServerSettings, place: Path, organization: str = "") -> int:
    make_creation_url(settings, organization, "")  # reports an invalid name before anything is created
    prepare_credentials_directory(place)
    created: list[tuple[NewApp, Path]] = []
    with open_listener(settings) as listener:

        def finish(app: NewApp, file: Path) -> None:
            created.append((app, file))
            shutdown = threading.Timer(LAST_LOOK_SECONDS, lambda: setattr(server, "should_exit", True))
            shutdown.daemon = True
            shutdown.start()

        word = secrets.token_urlsafe(24)
        port = listener.getsockname()[1]
        server = make_quiet_server(create_setup_app(SetupFlow(settings, place, word, port, finish, organization)))
        owner = organization or "your own account"
        # Browsers cannot open a wildcard address, so loopback is used instead.
        address = make_listener_url(listener).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        text = OPEN.format(github=make_github_web_url(settings), owner=owner, address=address, word=word)
        sys.stdout.write(text)
        sys.stdout.flush()
        serve_until_stopped(server, listener)
    if not created:
        raise SetupProblem("the setup ended before an App was created", remedy="run the same command again")
    app, file = created[0]
    install = make_installation_url(settings, app.slug)
    sys.stdout.write(DONE.format(app=app.slug, key=place / KEY_FILE, file=file, install=install))
    return 0
