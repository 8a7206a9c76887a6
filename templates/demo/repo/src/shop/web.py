"""The shop over HTTP: a small WSGI application."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from shop.catalog import Catalog, Product, UnknownProduct
from shop.money import Money

CATALOG = Catalog([Product("tea", "Green tea", Money.of(4, 50)), Product("pot", "Tea pot", Money.of(32))])


class Application:
    def __init__(self) -> None:
        self._handlers: dict[str, Callable[[str], object]] = {}

    def get(self, path: str) -> Callable[[Callable[[str], object]], Callable[[str], object]]:
        def register(handler: Callable[[str], object]) -> Callable[[str], object]:
            self._handlers[path.partition("{")[0]] = handler
            return handler

        return register

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        directory, slash, name = environ["PATH_INFO"].rpartition("/")
        handler = self._handlers.get(environ["PATH_INFO"]) or self._handlers.get(directory + slash)
        try:
            status, body = ("200 OK", handler(name)) if handler else ("404 Not Found", "no such page")
        except UnknownProduct:
            status, body = "404 Not Found", "no such product"
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(body).encode()]


app = Application()


@app.get("/health")
def health(_name: str) -> object:
    return "ok"


@app.get("/products/{sku}")
def show_product(sku: str) -> object:
    product = CATALOG.find(sku)
    return {"name": product.name, "price": str(product.price)}
