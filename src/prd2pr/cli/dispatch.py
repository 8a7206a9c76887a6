"""Parse the arguments of the program, run the verb, and report errors and bugs."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable

from prd2pr import __version__
from prd2pr.cli.imports import suspend_gc
from prd2pr.cli.table import COMMANDS
from prd2pr.errors import InputInvalid, Prd2prError, SetupProblem, Stopped

USAGE_STATUS = 2
BUG_STATUS = 3


class ShowVersion(argparse.Action):
    """Prints the version. The commit is determined only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from prd2pr.build_info import get_build_commit

        sys.stdout.write(f"prd2pr {__version__} ({get_build_commit() or 'commit unknown'})\n")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="prd2pr",
        description="Push a PRD, get a pull request in which every commit proves itself.",
        epilog="New here? Try `prd2pr demo`: it needs no key, no network and no GitHub.",
    )
    top.add_argument("--version", action=ShowVersion, nargs=0, help="Show version and commit")
    verbs = top.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        verb = verbs.add_parser(
            command.name, help=command.help, description=command.help, epilog=f"Exit status: {command.exits}"
        )
        for each in command.options:
            verb.add_argument(*each.names, help=each.help, **dict(each.settings))
        verb.set_defaults(handler=command.handler)
    return top


def load_handler(handler: str) -> Callable[[argparse.Namespace], int]:
    module, function = handler.split(":")
    with suspend_gc():
        verb = importlib.import_module(f"prd2pr.cli.verbs.{module}")
    found: Callable[[argparse.Namespace], int] = getattr(verb, function)
    return found


def run_command(argv: list[str]) -> int:
    """Parse the arguments, run the verb, and turn errors into messages and exit statuses."""
    try:
        signal.signal(signal.SIGTERM, raise_stopped)
        status = dispatch_command(argv)
        sys.stdout.flush()
    except Prd2prError as error:
        return report_error(error)
    except KeyboardInterrupt:
        return report_error(Stopped("stopped by Ctrl-C", remedy="run the same command again"))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader (`head`, a pager) closed the pipe. Without this, Python would report the error again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return report_error(describe_os_error(error))
    except Exception:  # noqa: BLE001 - any other exception is a bug
        return report_bug(argv)
    return status


def dispatch_command(argv: list[str]) -> int:
    if unknown := find_unknown_command(argv):
        report_error(unknown)
        return USAGE_STATUS
    parser = build_parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 0
    return load_handler(options.handler)(options)


def find_unknown_command(argv: list[str]) -> InputInvalid | None:
    """Return an error with a suggestion if there is no such command; argparse would only list all of them."""
    names = tuple(command.name for command in COMMANDS)
    if not argv or argv[0].startswith("-") or argv[0] in names:
        return None
    from prd2pr.prd.validation_messages import find_close_match

    meant = find_close_match(argv[0], names)
    return InputInvalid(
        f"there is no command {argv[0]!r}",
        remedy=f"did you mean `prd2pr {meant}`?" if meant else "`prd2pr --help` lists the commands",
    )


def describe_os_error(error: OSError) -> SetupProblem:
    """Convert a full disk, a missing permission or a wrong file type to an error that is not reported as a bug."""
    return SetupProblem(
        f"system error: {error.strerror or error}",
        where=str(error.filename or ""),
        remedy="free disk space, grant the permission or move the file in the way, then run the same command again",
    )


def raise_stopped(*_: object) -> None:
    """Handle SIGTERM, which a runner sends shortly before it kills a cancelled job."""
    raise Stopped("stopped by SIGTERM", remedy="run the same command again")


def report_error(error: Prd2prError) -> int:
    from prd2pr.domain.wording import clean_line, neutralize_log_commands

    # A message may quote untrusted files.
    sys.stderr.write("".join(f"{neutralize_log_commands(clean_line(line))}\n" for line in error.lines()))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from prd2pr.cli.actions_job import write_workflow_command

        write_workflow_command("error", clean_line(" ".join((error.what, error.remedy))), error.where)
    return error.exit_status


def report_bug(argv: list[str]) -> int:
    """Print a bug report to paste into an issue, without values of environment variables or contents of files."""
    from prd2pr.domain.wording import escape_invisible, neutralize_log_commands

    trace = "\n".join(neutralize_log_commands(escape_invisible(line)) for line in traceback.format_exc().split("\n"))
    sys.stderr.write(
        "\nThis is a bug in prd2pr, not a mistake on your part. Everything that was committed is kept.\n"
        "Please paste the following into a new issue:\n\n```\n"
        f"prd2pr {__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}\n"
        f"command: prd2pr {' '.join(argv[:1])}\n"
        f"{trace}```\n"
    )
    return BUG_STATUS
