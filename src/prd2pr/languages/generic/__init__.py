"""Any other language: its tests are run by a configured command that writes JUnit XML or TAP; nothing is parsed.

Offers `language.LANGUAGE`, and `JUNIT` and `TAP` in `runner`. May import the shared modules of `prd2pr.languages`.
"""
