"""The simulated prompt cache follows the rules documented by providers."""

from __future__ import annotations

from typing import Any

from fakes.prompt_cache import Counted, PromptCache

MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def body(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(blocks)}], **more}


def test_marked_prefix_is_a_cache_hit_for_the_same_prefix() -> None:
    cache = PromptCache(minimum=10)
    assert cache.meet(body(text("a" * 400, **MARK), text("b" * 40))) == Counted(110, 0, 100)
    assert cache.meet(body(text("a" * 400, **MARK), text("c" * 40))) == Counted(110, 100, 0)
    assert cache.meet(body(text("x" * 400, **MARK))) == Counted(100, 0, 100)


def test_only_marked_prefixes_are_cached_and_later_marks_find_them() -> None:
    cache = PromptCache(minimum=10)
    cache.meet(body(text("a" * 400, **MARK), text("b" * 40)))
    assert cache.meet(body(text("a" * 400), text("b" * 40), text("c" * 40, **MARK))) == Counted(120, 100, 20)
    assert cache.meet(body(text("a" * 400), text("b" * 40))) == Counted(110, 0, 0), "no mark, no reading"


def test_mark_looks_back_twenty_blocks() -> None:
    for blocks, read in ((20, 100), (21, 0)):
        cache = PromptCache(minimum=10)
        cache.meet(body(text("a" * 400, **MARK)))
        later = [text("b") for _ in range(blocks - 1)]
        assert cache.meet(body(text("a" * 400), *later, text("c", **MARK))).read == read


def test_short_prefixes_are_not_cached() -> None:
    cache = PromptCache(minimum=101)
    cache.meet(body(text("a" * 400, **MARK)))
    assert cache.meet(body(text("a" * 400, **MARK))) == Counted(100, 0, 0)


def test_prefix_starts_with_model_format_tools_and_system() -> None:
    tool = {"name": "submit", "description": "d", "input_schema": {"type": "object"}}
    form = {"format": {"type": "json_schema", "schema": {}}}
    whole = body(text("a" * 400, **MARK), tools=[tool], system=[text("s")])
    cache = PromptCache(minimum=10)
    cache.meet(whole)
    assert cache.meet(whole).read > 100
    for other in ({"model": "n"}, {"system": [text("t")]}, {"tools": [{**tool, "name": "x"}]}, {"output_config": form}):
        assert cache.meet({**whole, **other}).read == 0


def test_result_as_list_equals_result_as_text() -> None:
    cache = PromptCache(minimum=10)
    plain = {"type": "tool_result", "tool_use_id": "t", "content": "r" * 400}
    cache.meet(body({**plain, "content": [text("r" * 400)], **MARK}))
    assert cache.meet(body(plain, text("more", **MARK))).read == 100
