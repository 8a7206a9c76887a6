"""What a call of `prd2pr serve` is for, if not for serving. Each is imported only where it is asked for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from prd2pr.server.settings import ServerSettings

Way = Callable[[ServerSettings], int]


def way(options: argparse.Namespace) -> Way | None:
    if options.words or options.rebuild:
        from prd2pr.entry.serving.tokens import keeping_way

        return keeping_way(options)
    if options.setup is not None:
        from prd2pr.entry.serving.setup import set_up

        return lambda settings: set_up(settings, Path(options.setup), options.organization or "")
    if options.demo is not None:
        from prd2pr.entry.serving.demo import show_demo

        return lambda settings: show_demo(settings, Path(options.demo).absolute())
    if options.backup:
        from prd2pr.entry.serving.backup import write_backup

        return lambda settings: write_backup(settings, Path(options.backup))
    if options.restore:
        from prd2pr.entry.serving.backup import read_backup

        return lambda settings: read_backup(settings, Path(options.restore))
    return None
