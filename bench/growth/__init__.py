"""`make bench-plots`: the cost of each step against the size of its input, with the exponent of each curve."""
