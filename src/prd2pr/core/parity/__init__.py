"""Old code against new: the same calls, and whether they end the same way."""
