"""Rules about tests that cannot fail, cannot pass, are not run, or do not test the story's code (the subject).

`test_file.check_test_file` applies the rules that need one file. Rules that compare files or results have their own
entry points: `contradictions`, `existing_helpers`, `misspelt_imports` and `unrelated_failures`.
"""
