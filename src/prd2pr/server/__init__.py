"""The App's server. Its libraries come with `pip install 'prd2pr[server]'`; only `prd2pr serve` loads them."""
