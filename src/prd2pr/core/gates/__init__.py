"""The gates: pure functions from evidence to a verdict."""
