"""Adapters for the Model port."""
