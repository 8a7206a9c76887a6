"""Serve the shop."""

from __future__ import annotations

from wsgiref.simple_server import make_server

from shop.settings import Settings
from shop.web import app


def main() -> None:
    make_server("", Settings.read().port, app).serve_forever()


if __name__ == "__main__":
    main()
