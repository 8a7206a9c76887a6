"""Support for Python projects: the test model, rules, mutation and differential testing, and the pytest runner.

The flat modules read source text without executing it; `runner` executes tests in the sandbox, and `probes` holds the
programs that run inside the test process. May import `domain`, `prd`, `state`, `sandbox` and the shared modules of
`languages`.
"""
