"""Living docs: documents for people, rendered from the repository, the records of its stories and its memory.

`render` is the entry point: it reads facts (`readers`, `state`), builds views (`documents`), fills `templates/docs/`
and merges the result with hand-written text (`merge`). Nothing reads the clock, so the same facts give the same bytes.

The wording of the documents may change only together with the version: `verify` renders documents of its own version
again and compares them byte for byte. Records are `NamedTuple`s because dataclasses load seven times slower.

May import `views`, `memory`, `verification`, `languages`, `state` and `domain`.
"""
