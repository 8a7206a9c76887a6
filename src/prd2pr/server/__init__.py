"""The GitHub App's server: webhook inbox, durable work, API, dashboard, and the projection that they read.

Its libraries come with `pip install 'prd2pr[server]'`; only `prd2pr serve` loads them. It may import `prd2pr.client`,
`prd2pr.github` and everything below; nothing but `prd2pr.cli` imports it.
"""
