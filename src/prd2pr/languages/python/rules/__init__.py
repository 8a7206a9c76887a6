"""Static rules about Python tests and source code.

`test_code` checks the tests of a RED commit, `source_code` the source of GREEN and REFACTOR commits. There is one
module per family of rules, which contains the checks together with their findings: code, title, explanation, examples
and remedy. The rules are pure functions of the file contents. They may import `domain` and the other Python modules
except the runner.
"""
