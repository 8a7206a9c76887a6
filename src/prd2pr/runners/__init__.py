"""Adapters for the TestRunner port."""
