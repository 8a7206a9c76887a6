"""The checkout of a small web shop."""
