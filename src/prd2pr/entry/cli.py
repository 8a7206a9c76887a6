"""The command line: one table of commands. Help, the docs page and the dispatch are made from it.

A handler is named, not imported, so that each call pays only for what it uses.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prd2pr import __version__
from prd2pr.entry.loading import loading
from prd2pr.errors import Prd2prError, SetupProblem, Stopped

BUG_STATUS = 3


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    help: str
    settings: tuple[tuple[str, Any], ...] = ()  # keyword arguments of argparse


@dataclass(frozen=True)
class Command:
    name: str
    help: str
    handler: str  # module under prd2pr.entry.verbs, and function
    exits: str
    options: tuple[Option, ...] = ()
    example: str = ""


def option(*names: str, help: str, **settings: Any) -> Option:  # noqa: A002 - argparse's own word
    return Option(names, help, tuple(settings.items()))


JSON = option("--json", help="print JSON for programs", action="store_true")
REPO = option("--repo", help="the repository (default: the one around this directory)", metavar="DIR", default=".")
MODEL = option(
    "--model",
    help="who does the work: anthropic:ID, openai:ID, command:PROGRAM, plugin:NAME, human, replay:FILE",
    metavar="SPEC",
)
RECORD = option("--record", help="write the model's answers to a transcript that replay: reads", metavar="FILE")
STORY = option("--story", help="only this story", metavar="ID")

COMMANDS: tuple[Command, ...] = (
    Command(
        "demo",
        "a sample repository and PRD, the whole way to the PR page, with a replayed model",
        "demo:main",
        "0",
        (
            option("--dir", help="where to put it; the same directory again goes on from where it was", metavar="D"),
            option(
                "--language",
                help="of the sample; those beside Python need their own tools",
                choices=("python", "javascript", "typescript", "go", "rust"),
                default="python",
            ),
        ),
        "prd2pr demo --dir demo",
    ),
    Command(
        "init",
        "write .prd2pr.yml, the workflow and prds/ with a template; never overwrites",
        "init:main",
        "0, or 1",
        (
            REPO,
            option("--action", help="the Action to use (default: this prd2pr's own commit)", metavar="OWNER/REPO@SHA"),
            option("--verify", help="also the workflow that proves every pull request again", action="store_true"),
        ),
        "prd2pr init",
    ),
    Command(
        "doctor",
        "say what is wrong with the set-up and how to mend it",
        "doctor:main",
        "0 fine, 1 not",
        (REPO, JSON),
        "prd2pr doctor",
    ),
    Command(
        "plan",
        "preview the stories of a PRD with estimate and cost; writes nothing",
        "plan:main",
        "0, or 1",
        (option("prd", help="the PRD file", metavar="PRD"), REPO, MODEL, RECORD, JSON),
        "prd2pr plan prds/loyalty.md",
    ),
    Command(
        "run",
        "drive a PRD through its stories to the PR page",
        "run:main",
        "0 done, 1 stopped with a reason",
        (
            option("prd", help="the PRD file", metavar="PRD"),
            REPO,
            STORY,
            MODEL,
            RECORD,
            JSON,
            option("--max-steps", help="stop after N phases", metavar="N", type=int),
            option(
                "--workers", help="stories to work on at once (0: one for each core, at most 4)", metavar="N", type=int
            ),
        ),
        "prd2pr run prds/loyalty.md --model anthropic:claude-sonnet-5-5",
    ),
    Command(
        "next",
        "do one phase: its work, its gate, its commit",
        "run:next_phase",
        "0, or 1 with a reason",
        (
            option("prd", help="the PRD file (default: the only one under way)", metavar="PRD", nargs="?"),
            REPO,
            STORY,
            MODEL,
            RECORD,
            JSON,
        ),
        "prd2pr next",
    ),
    Command(
        "gate",
        "judge any two commits, a person's too",
        "gate:main",
        "0 accepted, 1 refused, 2 could not judge",
        (
            option(
                "phase", help="red, green, refactor or integrated", choices=("red", "green", "refactor", "integrated")
            ),
            option("--base", help="the commit before", metavar="REV", required=True),
            option("--head", help="the commit to judge (default: HEAD)", metavar="REV", default="HEAD"),
            option("--story", help="the story whose criteria and design count", metavar="ID"),
            REPO,
            JSON,
        ),
        "prd2pr gate green --base red1 --head mine",
    ),
    Command(
        "verify",
        "prove every step of a branch again, from the commits alone",
        "verify:main",
        "0 all proved, 1 not, 2 could not tell",
        (
            option(
                "range",
                help="A..B or a branch (default: this branch, else every prd2pr branch)",
                metavar="RANGE",
                nargs="?",
            ),
            REPO,
            JSON,
            option("--markdown", help="write the report as Markdown", metavar="FILE"),
            option(
                "--fresh",
                help="make every test run again, also those that an earlier verify made here",
                action="store_true",
            ),
            option(
                "--workers",
                help="steps proved side by side (default: one for each core, or one without all of the sandbox)",
                metavar="N",
                type=int,
            ),
            option("--attest", help="write an in-toto Statement for each proved step", metavar="DIR"),
            option(
                "--statements",
                help="look at these statements or bundles too (default: prd2pr-statements/, where it is there)",
                metavar="PATH",
            ),
            option("--job", help="as a check in GitHub Actions: the pull request of the event", action="store_true"),
        ),
        "prd2pr verify main..prd2pr/loyalty",
    ),
    Command(
        "explain",
        "what a finding or an error means, with an example and the way out",
        "explain:main",
        "0, or 2 if unknown",
        (option("code", help="RED104, GRN201, ERR401 …", metavar="CODE"), JSON),
        "prd2pr explain RED104",
    ),
    Command(
        "status",
        "where each PRD stands, and the next thing to do",
        "status:main",
        "0",
        (option("prd", help="a PRD's id or file", metavar="PRD", nargs="?"), REPO, JSON),
        "prd2pr status",
    ),
    Command(
        "reset",
        "close the circuits that trouble has opened, so that work goes on at once",
        "reset:main",
        "0, or 1 if none is open",
        (
            option("prd", help="the PRD file (default: the only one under way)", metavar="PRD", nargs="?"),
            option("--circuit", help="only this one: green, push, a model's name, system", metavar="NAME"),
            REPO,
            JSON,
        ),
        "prd2pr reset prds/loyalty.md",
    ),
    Command(
        "logs",
        "what the runs did: model calls, verdicts, tokens",
        "logs:main",
        "0",
        (
            option("prd", help="a PRD's id or file", metavar="PRD", nargs="?"),
            option(
                "--tokens", help="where the tokens went: by role, story and part of the prompt", action="store_true"
            ),
            REPO,
            STORY,
            JSON,
        ),
        "prd2pr logs --tokens",
    ),
    Command(
        "query",
        "what was learnt and done: similar-failures TEXT, correction-factor, scope-creep, stale-docs, slow-agents, "
        "complexity-trend [FILE], trace [ID]",
        "query:main",
        "0, or 2 if there is no such query",
        (
            option("name", help="which query", metavar="NAME", nargs="?"),
            option("text", help="what it is about, for those that ask for it", metavar="TEXT", nargs="?"),
            option("--sql", help="ask the index yourself: one SELECT, which can read and nothing else", metavar="SQL"),
            option("--limit", help="no more rows than this (at most 1000)", metavar="N", type=int),
            REPO,
            JSON,
        ),
        'prd2pr query similar-failures "send a message when points expire"',
    ),
    Command(
        "docs",
        "say which living docs would change; write them into the checkout, or check that they are current",
        "docs:main",
        "0, or 1 where --check finds stale ones, or some that it cannot hold",
        (
            option(
                "--write", help="write them into the checkout; text outside of their marks is kept", action="store_true"
            ),
            option(
                "--check",
                help="change nothing; exit 1 if any is stale or cannot be brought up to date",
                action="store_true",
            ),
            option("--out", help="write them into this directory instead", metavar="DIR"),
            option("--site", help="write the dashboard of all PRDs as a static site, for GitHub Pages", metavar="DIR"),
            REPO,
            JSON,
        ),
        "prd2pr docs --check",
    ),
    Command("schema", "print the JSON Schema of .prd2pr.yml", "schema:main", "0", (JSON,), "prd2pr schema"),
    Command("action", "the entry of the GitHub Action", "action:main", "0, or 1 with an annotation", (), ""),
    Command(
        "replay",
        "what an event of GitHub would make the bot do; without --dry-run it does it, as `action` would",
        "replay:main",
        "0, or 1",
        (
            option(
                "-e", "--event", help="the event's name: push, issues, issue_comment …", metavar="EVENT", required=True
            ),
            option("-p", "--payload", help="the event's JSON", metavar="FILE", required=True),
            option("--dry-run", help="say it, and do nothing", action="store_true"),
            JSON,
        ),
        "prd2pr replay -e issue_comment -p event.json --dry-run",
    ),
    Command(
        "serve",
        "the App's server: takes GitHub's deliveries in, has the work done, shows it; needs prd2pr[server]",
        "serve:main",
        "0 when asked to stop, or 1",
        (
            option(
                "words",
                help="nothing to serve; or `token create`, `token list`, `token revoke ID`",
                metavar="WORD",
                nargs="*",
            ),
            option("--name", help="of a token: goes on record with what is asked for by it", metavar="NAME"),
            option("--scope", help="of a token: what it may do", choices=("read", "operate", "admin")),
            option(
                "--repo",
                help="of a token: owner/name, 'owner/*' or '*'; may be given several times",
                metavar="REPO",
                action="append",
                dest="token_repos",
            ),
            option("--days", help="of a token: until it expires (default: 90; 0: never)", metavar="N", type=float),
            option(
                "--rebuild",
                help="forget all that was read from branches, so that the server reads it again",
                action="store_true",
            ),
            option("--config", help="settings as YAML; the environment and these options come first", metavar="FILE"),
            option("--host", help="the address to listen on (default: 127.0.0.1)", metavar="ADDRESS"),
            option("--port", help="the port to listen on (default: 8080)", metavar="N", type=int),
            option("--database", help="sqlite:///FILE or postgresql://…", metavar="URL"),
            option("--workers", help="who does the work: actions or local", choices=("actions", "local")),
            option("--dead", help="list what was given up, with the reason, instead of serving", action="store_true"),
            option(
                "--replay-dead",
                help="have what was given up tried again, all of it or the one named, instead of serving",
                metavar="ID",
                nargs="?",
                const="",
            ),
            option("--public-url", help="where people and GitHub reach this server", metavar="URL"),
            option(
                "--setup",
                help="show a page that creates the GitHub App, and keep its key in DIR (default: prd2pr-app)",
                metavar="DIR",
                nargs="?",
                const="prd2pr-app",
            ),
            option("--organization", help="with --setup: whose App it is (default: your own account)", metavar="ORG"),
            option(
                "--demo",
                help="play the demo in DIR (default: prd2pr-demo), and show it on this machine without a token",
                metavar="DIR",
                nargs="?",
                const="prd2pr-demo",
            ),
            option("--backup", help="copy the SQLite database to FILE, also while the server runs", metavar="FILE"),
            option("--restore", help="put a backup into the database's place", metavar="FILE"),
        ),
        "prd2pr serve --port 8080",
    ),
)


class ShowVersion(argparse.Action):
    """Asks for the commit only when it is called for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from prd2pr.flows.built_from import built_from

        sys.stdout.write(f"prd2pr {__version__} ({built_from() or 'commit unknown'})\n")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="prd2pr",
        description="Push a PRD, get a pull request in which every commit proves itself.",
        epilog="New here? `prd2pr demo` needs no key, no network and no GitHub.",
    )
    top.add_argument("--version", action=ShowVersion, nargs=0, help="show version and commit")
    verbs = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        verb = verbs.add_parser(
            command.name, help=command.help, description=command.help, epilog=f"exit status: {command.exits}"
        )
        for each in command.options:
            verb.add_argument(*each.names, help=each.help, **dict(each.settings))
        verb.set_defaults(handler=command.handler)
    return top


def load(handler: str) -> Callable[[argparse.Namespace], int]:
    module, function = handler.split(":")
    with loading():
        verb = importlib.import_module(f"prd2pr.entry.verbs.{module}")
    found: Callable[[argparse.Namespace], int] = getattr(verb, function)
    return found


def run(argv: list[str]) -> int:
    """The one place where errors become words and exit statuses."""
    try:
        signal.signal(signal.SIGTERM, stop)
        options = parser().parse_args(argv)
        status = load(options.handler)(options)
        sys.stdout.flush()
    except Prd2prError as error:
        return complain(error)
    except KeyboardInterrupt:
        return complain(
            Stopped("stopped by Ctrl-C", remedy="the same command again goes on from the last proved phase")
        )
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader (`head`, a closed pager) has seen enough. Python would complain once more while shutting down.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return complain(machine_problem(error))
    except Exception:  # noqa: BLE001 - the process's edge: whatever arrives here is a bug
        return report_bug(argv)
    return status


def machine_problem(error: OSError) -> SetupProblem:
    """A full disk, a directory that may not be written, a file in the way: not the user's call, and not our bug."""
    return SetupProblem(
        f"the system says: {error.strerror or error}",
        where=str(error.filename or ""),
        remedy="make room, give permission or move what is in the way, then the same command again",
    )


def stop(*_: object) -> None:
    """A runner that cancels a job sends SIGTERM shortly before it kills."""
    raise Stopped("stopped by SIGTERM", remedy="the same command again goes on from the last proved phase")


def complain(error: Prd2prError) -> int:
    from prd2pr.core.wording import plain, quiet_commands

    # A message may quote a file of anybody's.
    sys.stderr.write("".join(f"{quiet_commands(plain(line))}\n" for line in error.lines()))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from prd2pr.entry.actions import command

        command("error", plain(" ".join((error.what, error.remedy))), error.where)
    return error.exit_status


def report_bug(argv: list[str]) -> int:
    """A report to paste. Values of environment variables and file contents stay out of it."""
    from prd2pr.core.wording import quiet_commands, visible

    trace = "\n".join(quiet_commands(visible(line)) for line in traceback.format_exc().split("\n"))
    sys.stderr.write(
        "\nThis is a bug in prd2pr, not in what you did. Nothing that was committed is lost.\n"
        "Please paste the following into a new issue:\n\n```\n"
        f"prd2pr {__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}\n"
        f"command: prd2pr {' '.join(argv[:1])}\n"
        f"{trace}```\n"
    )
    return BUG_STATUS
