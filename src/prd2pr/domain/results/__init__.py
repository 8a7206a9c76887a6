"""Results that evidence contains: mutation testing, differential testing, removal of dead code, and the sandbox.

`finding_kind` defines a row of the findings table. Pure; it imports `domain.records`.
"""
