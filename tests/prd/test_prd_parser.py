from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prd2pr.domain.records import Prd
from prd2pr.errors import PrdInvalid
from prd2pr.prd.parser import MAX_PRD_BYTES, decode_prd, find_interface_text, parse_prd, slugify

ROOT = Path(__file__).parents[2]


def markdown(text: str, path: str = "prds/chat.md") -> Prd:
    return parse_prd(text, path)


def ids(prd: Prd) -> list[str]:
    return [requirement.id for requirement in prd.requirements]


def parents(prd: Prd) -> dict[str, str]:
    return {requirement.id: requirement.parent for requirement in prd.requirements}


def texts(prd: Prd) -> list[str]:
    return [requirement.text for requirement in prd.requirements]


def refusal(text: str, path: str = "prds/chat.md") -> PrdInvalid:
    with pytest.raises(PrdInvalid) as caught:
        parse_prd(text, path)
    assert caught.value.where.startswith(path)
    assert caught.value.remedy
    return caught.value


# --- requirements with an id ------------------------------------------------------------------------------------------


def test_demo_prd_is_read_completely() -> None:
    path = "prds/loyalty.md"
    prd = markdown((ROOT / "templates" / "demo" / "repo" / path).read_text(encoding="utf-8"), path)
    assert (prd.id, prd.title, prd.path) == ("loyalty", "Loyalty points", path)
    assert prd.summary.startswith("Customers who come back")
    assert [name for name in ids(prd) if name.startswith("FR")] == [
        "FR-1", "FR-1.1", "FR-2", "FR-2.1", "FR-3", "FR-3.1", "FR-4", "FR-5", "FR-6",
    ]  # fmt: skip
    assert [name for name in ids(prd) if not name.startswith("FR")] == [
        "NFR-1",
        "NFR-2",
        *(f"AC-{n}" for n in range(1, 8)),
    ]
    assert parents(prd)["FR-3.1"] == "FR-3"
    assert parents(prd)["AC-4"] == "FR-3.1"
    assert {r.line for r in prd.requirements if r.id == "FR-1.1"} == {15}
    assert {r.kind for r in prd.requirements if r.id.startswith("NFR")} == {"non_functional"}
    assert prd.modules[0].startswith("`shop.points`")


@pytest.mark.parametrize(
    ("written", "name", "text"),
    [
        ("- **FR-1**: Sign up", "FR-1", "Sign up"),
        ("- **FR-1:** Sign up", "FR-1", "Sign up"),
        ("- FR-1 Sign up", "FR-1", "Sign up"),
        ("- FR1: Sign up", "FR-1", "Sign up"),
        ("- fr-1: Sign up", "FR-1", "Sign up"),
        ("- FR-001 - Sign up", "FR-001", "Sign up"),
        ("- [ ] FR-1. Sign up", "FR-1", "Sign up"),
        ("- [FR-1] Sign up", "FR-1", "Sign up"),
        ("- `FR-1` Sign up", "FR-1", "Sign up"),
        ("1. FR-1.2.3: Sign up", "FR-1.2.3", "Sign up"),
        ("**FR-1** Sign up", "FR-1", "Sign up"),
        ("FR-1: sign up", "FR-1", "sign up"),
        ("FR 1: Sign up", "FR-1", "Sign up"),
        ("### FR-1: Sign up", "FR-1", "Sign up"),
        ("### FR-1\n\nSign up", "FR-1", "Sign up"),
        ("**FR-1**\n\nSign up", "FR-1", "Sign up"),
        ("- FR-1\n  - Sign up", "FR-1", "Sign up"),
        ("| id | what |\n|-|-|\n| FR-1 | Sign up |", "FR-1", "Sign up"),
        ("| id | what |\n|-|-|\n| **FR-1** | Sign up |", "FR-1", "Sign up"),
        ("- NFR-3: Quick", "NFR-3", "Quick"),
        ("- AC-2: Shown", "AC-2", "Shown"),
    ],
)
def test_ways_to_write_an_id(written: str, name: str, text: str) -> None:
    prd = markdown(f"# T\n\n## Requirements\n\n{written}\n")
    assert [(r.id, r.text) for r in prd.requirements] == [(name, text)]


@pytest.mark.parametrize(
    "reference",
    [
        "FR-1 and FR-2 must be quick.",
        "## Traceability\n\n| req | test |\n|-|-|\n| FR-1 | test_a |",
        "## Out of scope\n\n- FR-1 for guests",
        "- FR-1, FR-2",
        "```\nFR-1: example\n```",
        "    FR-1: indented example",
        "<!-- FR-1: a comment -->",
    ],
)
def test_reference_is_not_a_definition(reference: str) -> None:
    prd = markdown(f"# T\n\n## Requirements\n\n- FR-1: Sign up\n- FR-2: Sign in\n\nText between.\n\n{reference}\n")
    assert [name for name in ids(prd) if name.startswith("FR")] == ["FR-1", "FR-2"]


def test_details_belong_to_their_requirement() -> None:
    prd = markdown("# T\n\n### FR-1: Search\n\nIn all rooms.\n\n- by text\n- by date\n\n### FR-2: Export\n\nAs CSV.\n")
    assert texts(prd) == ["Search\nIn all rooms.\nby text\nby date", "Export\nAs CSV."]


def test_a_scenario_may_take_lines_or_bullets() -> None:
    prd = markdown(
        "## Acceptance criteria\n\n- AC-1:\n  GIVEN a room\n  WHEN a word is sent\n  THEN all see it\n"
        "- **AC-2**\n  - GIVEN a guest\n  - WHEN they write\n  - THEN it is refused\n"
    )
    assert texts(prd) == [
        "GIVEN a room\nWHEN a word is sent\nTHEN all see it",
        "GIVEN a guest\nWHEN they write\nTHEN it is refused",
    ]
    assert {r.kind for r in prd.requirements} == {"acceptance"}


def test_parents_of_criteria() -> None:
    prd = markdown(
        "# T\n\n### FR-1: A\n\n- AC-1: GIVEN x THEN y\n\n### FR-2: B\n\nText.\n\n## Acceptance criteria\n\n"
        "- AC-2 (FR-2): GIVEN x THEN y\n- AC-3: as FR-1 says, GIVEN x THEN y\n- AC-4: GIVEN x THEN y\n"
        "- AC-2.1: GIVEN z THEN y\n\n## More\n\n- FR-3: C\n  - AC-5: GIVEN x THEN y\n"
    )
    found = parents(prd)
    assert found["AC-1"] == "FR-1"
    assert found["AC-2"] == "FR-2"
    assert found["AC-3"] == "FR-1"
    assert found["AC-4"] == ""
    assert found["AC-2.1"] == "AC-2"
    assert found["AC-5"] == "FR-3"


def test_requirements_without_an_id_are_kept_next_to_those_with_one() -> None:
    prd = markdown(
        "# T\n\nThis should be fun.\n\n## Requirements\n\n- FR-1: Sign up\n- Sign in again\n\n"
        "## Safety\n\nPasswords must be hashed. That is usual.\n\n## Overview\n\nIt will be great.\n"
    )
    assert texts(prd) == ["Sign up", "Sign in again", "Passwords must be hashed."]


# --- prose ------------------------------------------------------------------------------------------------------------


def test_normative_sentences_and_bullets() -> None:
    prd = markdown(
        "# Newsletter\n\nPeople forget us. Users can subscribe, e.g. by mail. It is simple.\n\n"
        "The editor must:\n- write an issue\n- send it\n\n## Features\n\n- Double opt-in\n"
    )
    assert texts(prd) == [
        "Users can subscribe, e.g. by mail.",
        "The editor must: write an issue",
        "The editor must: send it",
        "Double opt-in",
    ]
    assert all(r.id.startswith("R-") and len(r.id) == 8 for r in prd.requirements)
    assert [r.line for r in prd.requirements] == [3, 6, 7, 11]


def test_without_normative_words_sections_or_paragraphs_count() -> None:
    sections = markdown("# T\n\nHello.\n\n## Features\n\nDark mode. It is dark.\n\n## Overview\n\nNice.\n")
    assert texts(sections) == ["Dark mode. It is dark."]
    paragraphs = markdown("# T\n\nA page with a button. It is blue.\n\nA second page.\n")
    assert texts(paragraphs) == ["A page with a button. It is blue.", "A second page."]


def test_kinds_follow_the_section() -> None:
    prd = markdown(
        "## Non-functional requirements\n\n- Quick\n\n## Acceptance criteria\n\nGiven a page\nwhen opened\nthen blue.\n"
    )
    assert [r.kind for r in prd.requirements] == ["non_functional", "acceptance"]


def test_id_depends_only_on_the_words() -> None:
    one = markdown("# A\n\nUsers **must** sign in.\n")
    other = markdown("# B\n\nIntro.\n\n- users must  sign in\n\nAll of it should be blue.\n")
    assert ids(one)[0] in ids(other)
    assert ids(markdown("Users must sign out.\n"))[0] != ids(one)[0]


def test_duplicate_requirement_counts_once() -> None:
    assert len(ids(markdown("Users must sign in.\n\nUsers must sign in.\n"))) == 1


# --- plan, modules, dependencies --------------------------------------------------------------------------------------

REQUIREMENTS = "# T\n\n## Requirements\n\n- FR-1: A\n- FR-2: B\n- FR-3: C\n- NFR-1: D\n\n## Implementation plan\n\n"


def test_phases_and_cycles() -> None:
    prd = markdown(
        REQUIREMENTS + "### Phase 1: Core\n\n- **Cycle 1: Store** (FR-1, NFR-1)\n  - in memory first\n"
        "- Cycle 2: Search (FR-2), depends on Cycle 1\n\n### Phase 2: Security\n\n"
        "- Cycle 3: Rights (FR-1 to FR-3). Depends on: 1, 2\n"
    )
    assert [(c.id, c.title, c.phase, c.requirements, c.depends_on) for c in prd.cycles] == [
        ("cycle-1", "Store", "Phase 1: Core", ("FR-1", "NFR-1"), ()),
        ("cycle-2", "Search", "Phase 1: Core", ("FR-2",), ("cycle-1",)),
        ("cycle-3", "Rights", "Phase 2: Security", ("FR-1", "FR-2", "FR-3"), ("cycle-1", "cycle-2")),
    ]
    assert prd.cycles[0].details == ("in memory first",)
    assert ids(prd) == ["FR-1", "FR-2", "FR-3", "NFR-1"], "the plan defines nothing"


def test_cycle_headings_numbered_per_phase() -> None:
    prd = markdown(
        REQUIREMENTS + "### Phase 1: A\n\n#### Cycle 1: Store\n\nFR-1, stored.\n\n#### Cycle 2: Find\n\n- FR-2\n\n"
        "### Phase 2: B\n\n#### Cycle 1: Show\n\nShows FR-3. Depends on phase 1.\n"
    )
    assert [(c.id, c.requirements, c.depends_on) for c in prd.cycles] == [
        ("cycle-1.1", ("FR-1",), ()),
        ("cycle-1.2", ("FR-2",), ()),
        ("cycle-2.1", ("FR-3",), ("cycle-1.1", "cycle-1.2")),
    ]


def test_cycles_in_a_table() -> None:
    prd = markdown(
        REQUIREMENTS
        + "| Cycle | Title | Covers | Depends on |\n|-|-|-|-|\n| 1 | Store | FR-1 | |\n| 2 | Find | FR-2 | 1 |\n"
    )
    assert [(c.id, c.title, c.requirements, c.depends_on) for c in prd.cycles] == [
        ("cycle-1", "Store", ("FR-1",), ()),
        ("cycle-2", "Find", ("FR-2",), ("cycle-1",)),
    ]


def test_unnumbered_plan_has_a_cycle_per_item_with_requirements() -> None:
    prd = markdown(
        REQUIREMENTS + "### Phase 1\n\n- Store (FR-1)\n- Talk to people\n\n### Phase 2\n\n- Find\n  - FR-2\n"
    )
    assert [(c.id, c.title, c.phase, c.requirements) for c in prd.cycles] == [
        ("cycle-1", "Store", "Phase 1", ("FR-1",)),
        ("cycle-2", "Find", "Phase 2", ("FR-2",)),
    ]
    assert markdown(REQUIREMENTS + "We begin with the store.\n").cycles == ()


@pytest.mark.parametrize(
    "words", ["depends on 3 tables", "depends on a database", "after 2 tries", "dependencies: none"]
)
def test_texts_that_are_no_dependency(words: str) -> None:
    assert markdown(REQUIREMENTS + f"- Cycle 1: Store (FR-1), {words}\n").cycles[0].depends_on == ()


def test_modules_and_dependencies() -> None:
    prd = markdown(
        REQUIREMENTS + "## Module structure\n\n```\nsrc/\n├── chat/\n│   ├── store.py     # messages\n│   └── find.py\n"
        "└── main.py\n```\n\n## Dependency changes\n\n- add `whoosh`\n"
    )
    assert prd.modules == ("src/chat/store.py", "src/chat/find.py", "src/main.py")
    assert prd.dependencies == ("add `whoosh`",)
    assert markdown(REQUIREMENTS + "## Dependencies\n\nNone.\n").dependencies == ()


# --- YAML and JSON ----------------------------------------------------------------------------------------------------

YAML = """\
id: bill
title: Billing
overview: |
  Bills are written by hand today.
functional_requirements:
  - id: FR-1
    title: Create a bill
    description: From an order.
    acceptance_criteria:
      - {id: AC-1, given: an order, when: it is billed, then: a bill exists}
  - FR-2: Send it
  - "FR-3: Cancel it"
  - {id: 4, text: Print it}
non_functional_requirements:
  NFR-1: Quick
acceptance_criteria:
  - {id: AC-2, requirement: FR-2, text: GIVEN a bill WHEN sent THEN mail}
implementation_plan:
  phases:
    - name: Core
      cycles:
        - {id: C1, title: Bill, requirements: [FR-1, FR-2]}
        - {id: C2, title: Cancel, requirements: [FR-3], depends_on: [C1]}
module_structure: [bill.core, bill.mail]
dependency_changes: none
"""


def test_yaml() -> None:
    prd = parse_prd(YAML, "prds/x.yml", blob="abc")
    assert (prd.id, prd.title, prd.blob) == ("bill", "Billing", "abc")
    assert prd.summary == "Bills are written by hand today."
    assert [(r.id, r.line, r.parent) for r in prd.requirements] == [
        ("FR-1", 6, ""), ("AC-1", 10, "FR-1"), ("FR-2", 11, ""), ("FR-3", 12, ""), ("FR-4", 13, ""),
        ("NFR-1", 15, ""), ("AC-2", 17, "FR-2"),
    ]  # fmt: skip
    assert texts(prd)[:2] == ["Create a bill\nFrom an order.", "GIVEN an order\nWHEN it is billed\nTHEN a bill exists"]
    assert [(c.id, c.title, c.phase, c.depends_on) for c in prd.cycles] == [
        ("cycle-1", "Bill", "Phase 1: Core", ()),
        ("cycle-2", "Cancel", "Phase 1: Core", ("cycle-1",)),
    ]
    assert prd.modules == ("bill.core", "bill.mail")
    assert prd.dependencies == ()


def test_json_and_prose_in_it() -> None:
    text = (
        '{\n "title": "Billing",\n\t"author": "must not count",\n "features": [\n  "Print",\n  "Users can pay"\n ]\n}'
    )
    prd = parse_prd(text, "prds/Big Bill.json")
    assert (prd.id, prd.title) == ("big-bill", "Billing")
    assert [(r.text, r.line) for r in prd.requirements] == [("Print", 5), ("Users can pay", 6)]


@pytest.mark.parametrize(
    ("path", "text", "words", "line"),
    [
        ("x.yml", "a: 1\na: 2", "duplicate key", ":2"),
        ("x.yml", "- a", "not a mapping", ""),
        ("x.yml", "a: &x b", "anchors", ":1"),
        ("x.json", '{"a": "b",\n "a": "c"}', "duplicate key", ":2"),
        ("x.json", "[1]", "not a mapping", ""),
        ("x.json", "{", "key in double quotes", ":1"),
        ("x.json", '{"a": [1,]}', "not valid JSON", ":1"),
        ("x.json", '{"a": NaN}', "NaN is not JSON", ":1"),
        ("x.json", '{"a": 1} x', "more text", ":1"),
        ("x.json", '{"a": "\\ud800"}', "surrogate", ":1"),
        ("x.json", '{"a": ' + "[" * 100_000, "deeper", ":1"),
        ("x.json", '{"a": ' + "9" * 5000 + "}", "not valid JSON", ":1"),
        ("x.txt", "Users must pay.", "unsupported file type", ""),
        ("README", "Users must pay.", "unsupported file type", ""),
    ],
)
def test_invalid_structured_files(path: str, text: str, words: str, line: str) -> None:
    error = refusal(text, path)
    assert words in error.what
    assert error.where == path + line


# --- id, title, front matter ------------------------------------------------------------------------------------------


def test_front_matter_keeps_line_numbers() -> None:
    prd = markdown(
        "---\nid: my-id\ntitle: 'My title'\nsummary: Short.\ndate: 2026-01-01\n---\n\n# Heading\n\n- FR-1: A\n"
    )
    assert (prd.id, prd.title, prd.summary, prd.requirements[0].line) == ("my-id", "My title", "Short.", 10)
    assert prd.text.startswith("---\nid:"), "the text is kept whole"


def test_id_and_title_without_front_matter() -> None:
    assert (markdown("# Big *plans*\n\nUsers must pay.").id, markdown("# Big *plans*\n\nUsers must pay.").title) == (
        "chat",
        "Big plans",
    )
    prd = markdown("Users must pay.", "prds/Übung & Co_2.md")
    assert (prd.id, prd.title) == ("ubung-co-2", "Übung & Co_2")


def test_slugs_are_valid_ids() -> None:
    assert slugify("  A -- B  ") == "a-b"
    assert len(slugify("x" * 100)) == 48
    assert slugify("日本") == ""


def test_later_horizontal_rule_is_no_front_matter() -> None:
    assert texts(markdown("Users must pay.\n\n---\n\nUsers must sign in.\n\n---\n")) == [
        "Users must pay.",
        "Users must sign in.",
    ]


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", "empty", ""),
        (" \n\n", "empty", ""),
        ("# A\n\n## B\n", "no text below", ""),
        ("```\ncode\n```\n", "no requirements", ""),
        ("---\nid: x\n", "not closed", ":1"),
        ("---\n- x\n---\nText.", "front matter is not", ":1"),
        ("---\nid: a\nid: b\n---\nText.", "duplicate key", ":3"),
        ("---\ntitle: T\nid: Not An Id\n---\nText.", "`Not An Id` is not ", ":3"),
        ("---\nid: [a]\n---\nText.", "not a valid id", ":2"),
        ("- FR-1: A\n- FR-2: B\n- FR-01: C\n", "FR-01 is defined twice, on lines 1 and 3", ":3"),
        ("- FR-1: A\n- AC-1 (FR-7): GIVEN x THEN y\n", "FR-7 is used here but not defined", ":2"),
        (REQUIREMENTS + "- Cycle 1: Store (FR-9)\n", "FR-9 is used here but not defined", ":12"),
        (
            REQUIREMENTS + "- Cycle 1: A, depends on cycle 7\n",
            "cycle 1 depends on cycle 7, which does not exist",
            ":12",
        ),
        (REQUIREMENTS + "- Cycle 1: A\n- Cycle 1: B\n", "cycle 1 occurs twice", ":13"),
        (
            REQUIREMENTS + "- Cycle 1: A, depends on cycle 2\n- Cycle 2: B, depends on cycle 1\n",
            "cycle-1 → cycle-2 → cycle-1",
            ":12",
        ),
        ("Users must pay.\n\nA\x00B", "NUL", ":3"),
        ("".join(f"- FR-{n}: text\n" for n in range(1, 502)), "501 requirements; the limit is 500", ":501"),
        ("a\n" * 20_001, "20001 lines", ""),
        ("a" * (MAX_PRD_BYTES + 1), "KiB", ""),
    ],
)
def test_invalid_input_is_reported_with_its_line(text: str, words: str, line: str) -> None:
    error = refusal(text)
    assert words in error.what
    assert error.where == "prds/chat.md" + line


def test_valid_id_is_suggested() -> None:
    assert "`id: not-an-id`" in refusal("---\nid: Not An Id\n---\nText.").remedy


def test_a_name_without_letters_gives_no_id() -> None:
    assert "no id can be derived" in refusal("Users must pay.", "日本.md").what


# --- bytes ------------------------------------------------------------------------------------------------------------


def test_byte_order_mark_and_line_ends() -> None:
    assert decode_prd(b"\xef\xbb\xbfa\r\nb\rc\n", "x.md") == "a\nb\nc\n"
    assert ids(markdown("\ufeff---\r\nid: x\r\n---\r\n- FR-1: A\r\n")) == ["FR-1"]


@pytest.mark.parametrize(
    ("data", "words", "where"),
    [
        (b"a\n\xff\xfe", "not UTF-8", "x.md:2"),
        ("a\n".encode("utf-16"), "not UTF-8", "x.md:1"),
        (b"a\nb\x00", "NUL", "x.md:2"),
        (b"a" * (MAX_PRD_BYTES + 1), "limits are 512 KiB", "x.md"),
    ],
)
def test_bytes_that_are_not_text(data: bytes, words: str, where: str) -> None:
    with pytest.raises(PrdInvalid, match=words) as caught:
        decode_prd(data, "x.md")
    assert caught.value.where == where


# --- anything ---------------------------------------------------------------------------------------------------------

pieces = st.sampled_from(
    [
        "FR-1", "FR-1.1", "AC-1", "AC-2", "NFR-1", "(FR-1)", "(AC-1)", "(AC-2)", "Cycle 1", "Cycle 2", "Phase 1",
        "depends on", "C1", "1", "must", "users can", "GIVEN", "WHEN", "THEN", ":", "\n", "\n\n", "# ", "## ", "- ",
        "  - ", "1. ", "> ", "```", "|", "|-|-|", "---", "**", "`", "Implementation plan", "Requirements", "Modules",
        "Out of scope", "Dependencies", "a", "{", "}", "[", "]", '"', ",", "&x", "*x", "!t", "id: ", "title: ",
        "requirements: ", "<!--", "-->", "\t", "    ", "\x00", "\u2028", "\ud800", "é", "日本",
    ]
)  # fmt: skip
anything = st.one_of(st.text(), st.lists(pieces, max_size=40).map(" ".join), st.lists(pieces, max_size=40).map("".join))


@settings(max_examples=400, deadline=None)
@given(anything, st.sampled_from(["x.md", "x.yml", "x.json"]))
def test_any_text_is_a_prd_or_a_refusal(text: str, path: str) -> None:
    try:
        prd = parse_prd(text, path)
    except PrdInvalid as error:
        outcome = error.where.startswith(path) and bool(error.remedy)
    else:
        outcome = bool(prd.requirements) and len(set(ids(prd))) == len(ids(prd))
        assert Prd.model_validate_json(prd.model_dump_json()) == prd
    assert outcome


vocabulary = st.sampled_from(["users", "admins", "must", "can", "should", "pay", "print", "the bill", "often", "page"])
words = st.lists(vocabulary, min_size=1, max_size=8)
paragraphs = st.lists(words.map(lambda chosen: " ".join(chosen) + "."), min_size=1, max_size=6)


@settings(deadline=None)
@given(paragraphs.flatmap(lambda chosen: st.tuples(st.just(chosen), st.permutations(chosen))))
def test_ids_do_not_depend_on_the_order_of_paragraphs(orders: tuple[list[str], list[str]]) -> None:
    before, after = ({*ids(markdown("\n\n".join(order)))} for order in orders)
    assert before == after


@settings(deadline=None)
@given(paragraphs, st.text(alphabet="xyz ", min_size=1, max_size=20))
def test_ids_stay_when_a_binding_sentence_is_added(chosen: list[str], extra: str) -> None:
    first = "Every order must be paid."
    before = set(ids(markdown("\n\n".join([first, *chosen]))))
    after = set(ids(markdown("\n\n".join([f"One more {extra} must be seen.", first, *chosen]))))
    assert before <= after


def test_spaces_in_code_spans_are_part_of_the_requirement() -> None:
    text = "# Tables\n\n## Functional requirements\n\n- **FR-1** The  header is `name    n`,\n  the row  `apple  12`.\n"
    (wanted,) = parse_prd(text, "prds/tables.md").requirements
    assert wanted.text.replace("\n", " ") == "The header is `name    n`, the row `apple  12`."


def test_ids_of_a_tracker_are_kept():
    text = """# Feeds

## Requirements
- FEED-231: A feed can be added.
- FEED-232: A feed that cannot be reached is marked.
- UTF-8 titles are shown as they are.

## Acceptance criteria
- AC-1 (FEED-232): GIVEN a feed WHEN it times out THEN it is marked
- AC-2 (ISO-8601): GIVEN a date WHEN it is shown THEN it is in this form
"""
    found = {each.id: each for each in parse_prd(text, "prds/feeds.md").requirements}
    assert {"FEED-231", "FEED-232", "AC-1", "AC-2"} < {*found}
    assert found["FEED-231"].text == "A feed can be added."
    assert (found["AC-1"].parent, found["AC-2"].parent) == ("FEED-232", "")
    assert "UTF-8" not in found


def test_bold_ids_of_several_items_need_no_colon() -> None:
    text = (
        "# Fixes\n\n## Requirements\n\n- **BUG-1** A mark is ignored.\n- **BUG-12** A text\n  of two lines is kept.\n"
    )
    found = {
        each.id: each for each in parse_prd(f"{text}- **UTF-8** titles must be shown.\n", "prds/f.md").requirements
    }
    assert {name: each.text for name, each in found.items() if not name.startswith("R-")} == {
        "BUG-1": "A mark is ignored.",
        "BUG-12": "A text\nof two lines is kept.",
    }
    assert [each.line for each in found.values()] == [5, 6, 8]


def test_sections_about_interfaces_are_found_with_their_code() -> None:
    text = """# Shop

- **FR-1** Earn points.

## Interface

```python
def earn(cents: int) -> int:
    ...
```

### Errors

`ValueError` for negative amounts.

## Notes

Nothing here.
"""
    found = find_interface_text(parse_prd(text, "prds/shop.md"))
    assert found == "def earn(cents: int) -> int:\n    ...\n`ValueError` for negative amounts."
    assert find_interface_text(parse_prd("# API\n\n- **FR-1** Earn.\n", "prds/a.md")) == "", "a title is no section"


def test_the_id_of_a_prd_may_be_a_trackers() -> None:
    assert parse_prd("---\nid: FEED-231\n---\n- FR-1: A feed can be added.\n", "prds/feeds.md").id == "feed-231"
