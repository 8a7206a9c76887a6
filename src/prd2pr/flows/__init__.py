"""Where effects happen: each flow is one verb of the product."""
