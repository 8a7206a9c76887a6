import json

import pytest

from shop.web import app


def request(path):
    sent = []
    body = b"".join(app({"PATH_INFO": path}, lambda status, headers: sent.append(status)))
    return sent[0], json.loads(body)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/health", ("200 OK", "ok")),
        ("/products/tea", ("200 OK", {"name": "Green tea", "price": "4.50 EUR"})),
        ("/products/coffee", ("404 Not Found", "no such product")),
        ("/cart", ("404 Not Found", "no such page")),
    ],
)
def test_answers(path, answer):
    assert request(path) == answer
