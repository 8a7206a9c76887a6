"""The program's front door. It must be light: an Actions event that is none of our business costs one Python start."""

from __future__ import annotations

import gc
import os
import sys


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return dispatch(arguments)
    except KeyboardInterrupt:  # while modules are still being loaded
        sys.stderr.write("error: stopped by Ctrl-C\n")
        return 130
    finally:
        if argv is None:
            gc.freeze()  # the process ends, which would else begin by looking through all that was loaded, twice


def dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["action"]:
        from prd2pr.entry.door import ignored

        if reason := ignored():
            sys.stdout.write(f"prd2pr: nothing to do: {reason}\n")
            return 0
    make_haste()
    from prd2pr.entry.loading import loading

    with loading():
        from prd2pr.entry.cli import run
    return run(arguments)


def make_haste() -> None:
    """Loading makes many objects and no garbage; and there is no plugin for pydantic that it should look for.

    Test runs are begun and followed by threads that wait nearly always: when one has something to do it is soon done,
    and should not wait each time for 5 ms of whatever else is computed.
    """
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.0005)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


if __name__ == "__main__":
    sys.exit(main())
