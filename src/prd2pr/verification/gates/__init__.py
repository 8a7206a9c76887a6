"""The checks of the four gates: pure functions from evidence to findings.

`check_red`, `check_green`, `check_refactor` and `check_integrated` yield findings; `verification.verdict` builds a
verdict from them. Each module defines the findings that it reports. May import `domain` and `languages`.
"""
