"""Static rules about Python tests and source.

`test_code` checks the tests of a RED commit, `source_code` the source of GREEN and REFACTOR commits. One module per
family of rules holds the checks together with their findings: code, title, explanation, examples and hint. The rules
are pure functions of texts. They may import `domain` and the other Python modules except the runner.
"""
