"""Deliveries: checked, stored durably, and only then acknowledged."""
