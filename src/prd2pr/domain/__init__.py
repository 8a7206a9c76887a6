"""The domain model: records, evidence, verdicts, the two state machines, budgets, circuit breakers and policies.

Everything here is a frozen record or a pure function over records. Nothing reads a file, runs a process, opens a
connection or asks the clock.

May import no other package.
"""
