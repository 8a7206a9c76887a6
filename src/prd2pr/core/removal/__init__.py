"""Dead code and its tests, removed openly: what went, and whether it was dead."""
