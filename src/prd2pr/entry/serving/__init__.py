"""The ways of `prd2pr serve` beside serving: set-up, demo, backup."""
