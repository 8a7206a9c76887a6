"""Roles, and the one tool loop that runs them all."""
