"""The simulated prompt cache keeps the rules that providers document."""

from __future__ import annotations

from typing import Any

from fakes.prompt_cache import Counted, PromptCache

MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def body(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(blocks)}], **more}


def test_what_ends_at_a_mark_is_read_by_the_same_beginning() -> None:
    cache = PromptCache(minimum=10)
    assert cache.meet(body(text("a" * 400, **MARK), text("b" * 40))) == Counted(110, 0, 100)
    assert cache.meet(body(text("a" * 400, **MARK), text("c" * 40))) == Counted(110, 100, 0)
    assert cache.meet(body(text("x" * 400, **MARK))) == Counted(100, 0, 100)


def test_only_what_was_marked_is_kept_and_a_later_mark_finds_it() -> None:
    cache = PromptCache(minimum=10)
    cache.meet(body(text("a" * 400, **MARK), text("b" * 40)))
    assert cache.meet(body(text("a" * 400), text("b" * 40), text("c" * 40, **MARK))) == Counted(120, 100, 20)
    assert cache.meet(body(text("a" * 400), text("b" * 40))) == Counted(110, 0, 0), "no mark, no reading"


def test_a_mark_looks_twenty_blocks_back() -> None:
    for blocks, read in ((20, 100), (21, 0)):
        cache = PromptCache(minimum=10)
        cache.meet(body(text("a" * 400, **MARK)))
        later = [text("b") for _ in range(blocks - 1)]
        assert cache.meet(body(text("a" * 400), *later, text("c", **MARK))).read == read


def test_what_is_too_short_is_not_kept() -> None:
    cache = PromptCache(minimum=101)
    cache.meet(body(text("a" * 400, **MARK)))
    assert cache.meet(body(text("a" * 400, **MARK))) == Counted(100, 0, 0)


def test_tools_system_model_and_format_stand_before_all() -> None:
    tool = {"name": "submit", "description": "d", "input_schema": {"type": "object"}}
    form = {"format": {"type": "json_schema", "schema": {}}}
    whole = body(text("a" * 400, **MARK), tools=[tool], system=[text("s")])
    cache = PromptCache(minimum=10)
    cache.meet(whole)
    assert cache.meet(whole).read > 100
    for other in ({"model": "n"}, {"system": [text("t")]}, {"tools": [{**tool, "name": "x"}]}, {"output_config": form}):
        assert cache.meet({**whole, **other}).read == 0


def test_a_result_in_a_list_is_the_same_as_one_in_a_text() -> None:
    cache = PromptCache(minimum=10)
    plain = {"type": "tool_result", "tool_use_id": "t", "content": "r" * 400}
    cache.meet(body({**plain, "content": [text("r" * 400)], **MARK}))
    assert cache.meet(body(plain, text("more", **MARK))).read == 100
