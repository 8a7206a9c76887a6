"""Functions exempt from mutation testing, and similar ones that are not."""

from __future__ import annotations

import ast

import pytest

from prd2pr.languages.python.mutation.exemptions import find_exempt_functions

# Sources are separated by a line of dashes; the first line names the exempt functions.
CASES = """\
# send
from urllib.request import urlopen
def send(url):
    with urlopen(url) as answer:
        return answer.read()
------
#
from urllib.request import urlopen
def send(url, tries):
    if tries > 3:
        return None
    return urlopen(url)
------
# now
import time
def now():
    return time.time()
def age(born, clock=now):
    return clock() - born
------
#
import time
def now():
    return time.time()
------
#
import random
def roll():
    return random.randint(1, 6)
------
# main
import sys
def run(words): ...
def main():
    print(run(sys.argv[1:]))
if __name__ == "__main__":
    main()
------
#
import sys
def run(words): ...
def main():
    for each in sys.argv:
        run(each)
------
#
def run(words): ...
def main():
    return run(1) + 1
------
# __delitem__
from collections.abc import MutableMapping
class Folded(MutableMapping):
    def __delitem__(self, key):
        del self.values[key]
    def fold(self):
        return 1
------
#
class Folded(Base):
    def __delitem__(self, key):
        del self.values[key]
------
# __init__ open
import socket
class Door:
    def __init__(self, host):
        self.host = host
    def open(self):
        return socket.create_connection(self.host)
"""


@pytest.mark.parametrize("source", CASES.split("------\n"))
def test_exempt_functions(source: str) -> None:
    tree = ast.parse(source)
    beyond = find_exempt_functions(tree)
    found = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and id(node) in beyond]
    assert found == source.partition("\n")[0].split()[1:]
