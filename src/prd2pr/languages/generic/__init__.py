"""Support for any other language: a configured command runs the tests and writes JUnit XML or TAP. Nothing is parsed.

Provides `language.LANGUAGE`, and `JUNIT` and `TAP` in `runner`. May import the shared modules of `prd2pr.languages`.
"""
