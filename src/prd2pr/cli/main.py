"""Entry point of the program. It imports little, so that an ignored Actions event costs only a start of Python."""

from __future__ import annotations

import gc
import os
import sys


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return dispatch(arguments)
    except KeyboardInterrupt:  # while modules are still being imported
        sys.stderr.write("error: stopped by Ctrl-C\n")
        return 130
    finally:
        if argv is None:
            gc.freeze()  # exit at once; otherwise Python would first run the garbage collector twice


def dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["action"]:
        from prd2pr.cli.ignored_events import find_ignore_reason

        if reason := find_ignore_reason():
            sys.stdout.write(f"prd2pr: nothing to do: {reason}\n")
            return 0
    tune_runtime()
    from prd2pr.cli.imports import suspend_gc

    with suspend_gc():
        from prd2pr.cli.dispatch import run_command
    return run_command(arguments)


def tune_runtime() -> None:
    """Tune garbage collection, thread switching and pydantic for fast imports and many waiting threads.

    Threads that follow test runs do little work at a time and should not wait 5 ms for each turn.
    """
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.0005)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


if __name__ == "__main__":
    sys.exit(main())
