"""Support for Python projects: the test model, rules, mutation and differential testing, and the pytest runner.

The top-level modules read source code without executing it. `runner` executes tests in the sandbox, and `probes`
contains the programs that run inside the test process. May import `domain`, `prd`, `state`, `sandbox` and the shared
modules of `languages`.
"""
