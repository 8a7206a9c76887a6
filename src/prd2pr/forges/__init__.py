"""Adapters for the Forge port."""
