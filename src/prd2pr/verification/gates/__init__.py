"""The checks of the four gates, as pure functions from evidence to findings.

`check_red`, `check_green`, `check_refactor` and `check_integrated` yield findings, from which `verification.verdict`
builds a verdict. Each module defines the findings that it reports. May import `domain` and `languages`.
"""
