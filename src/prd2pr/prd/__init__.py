"""Read PRDs: Markdown, YAML or JSON → `Prd`, requirement ids, and the diff of two versions.

`parser.parse_prd` is the entry point. `strict_yaml`, `strict_json` and `validation_messages` are also used for other
files that people write. `sanitize_markdown` removes hidden text from issues. Pure.

May import `domain`.
"""
