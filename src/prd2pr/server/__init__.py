"""The GitHub App's server: webhook inbox, durable work, API, dashboard, and the projection that they read.

Its libraries come with `pip install 'prd2pr[server]'`; only `prd2pr serve` loads them. `app` builds the application;
`settings`, `database` and `reader` serve its parts.

May import `client`, `github`, `reports`, `views`, `state`, `prd` and `domain`.
"""
