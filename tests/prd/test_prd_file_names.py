"""Which files are PRDs: by name, and for a README by its front matter."""

from __future__ import annotations

import pytest

from prd2pr.config import DEFAULT_PRDS
from prd2pr.prd.files import explain_not_prd, matches_prd_globs


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("prds/loyalty.md", "", True),
        ("prds/shop/loyalty.yml", "", True),
        ("prds/shop/loyalty.yaml", "", True),
        ("prds/_template.md", "---\nid: a\n---\n", False),
        ("prds/shop/_draft.md", "", False),
        ("docs/loyalty.md", "", False),
        ("prds/picture.png", "", False),
        ("prds/README.md", "# Our PRDs\n", False),
        ("prds/readme.de.md", "# Unsere\n\nid: nothing\n", False),
        ("prds/README.md", "---\ntitle: Our PRDs\n---\n\nid: x\n", False),
        ("prds/README.md", "---\nno end\nid: x\n", False),
        ("prds/README.md", "---\r\ntitle: T\r\nid: house\r\n---\r\n", True),
        ("prds/README.yml", "id: house\nrequirements: []\n", True),
        ("prds/README.json", '{"id": "house"}', True),
        ("prds/README.yml", "title: x\n", False),
        ("prds/readmes.md", "# A feature about READMEs\n", True),
    ],
)
def test_prd_is_known_by_its_name_and_a_readme_by_its_id(path, text, expected):
    assert (matches_prd_globs(DEFAULT_PRDS, path) and not explain_not_prd(path, text.encode)) is expected
