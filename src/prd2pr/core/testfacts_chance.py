"""Whether a test is about something that may differ from call to call: tokens, draws, ports, counters."""

from __future__ import annotations

import ast
import re

from prd2pr.core.testfacts_scope import TestScope

_WORDS = """
    random token salt hash digest uuid guid uniq nonce secret passw shuffl draw dice roll sampl jitter noise fresh next
    sequen increas generat differ distinct chance ticket id ids port bucket shard counter tick clock time now stamp
    serial elapsed latency duration key keys seed nan
"""
_BEGINNINGS = tuple(word for word in _WORDS.split() if len(word) > 4)
_WHOLE = frozenset(_WORDS.split())
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def speaks_of_chance(scope: TestScope) -> bool:
    """By the words of the test: its names, its texts, the functions that it calls."""
    return any(word in _WHOLE or word.startswith(_BEGINNINGS) for word in _words(scope.test.node))


def _words(node: ast.AST) -> set[str]:
    return {part.lower() for text in [ast.unparse(node)] for part in _PART.findall(text)}
