"""Run one role: give a model a workspace, a task and a budget, and return its files or its answer.

`role_runner` runs an assignment; `consultation` asks advising roles and records their answers; `recall` adds memory to
prompts; `impact` and `test_impact` select the tests that a role's changes reach.
"""
