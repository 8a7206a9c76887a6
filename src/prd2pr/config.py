"""`.prd2pr.yml`."""
