"""Circuit breakers: after repeated failures of a model, a stage or the push, work stops instead of failing again.

`records` defines the state of the breakers, and `circuits` the rules by which they open and close. Pure: the time is an
argument. It imports `domain.records` and `domain.wording`.
"""
