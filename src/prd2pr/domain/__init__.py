"""The domain model: records, evidence, verdicts, the two state machines, budgets, circuit breakers and policies.

Everything here is a frozen record or a pure function over records. Nothing reads files, runs processes, opens
connections or reads the clock.

May import no other package.
"""
