"""The GitHub App's server: webhook inbox, durable work queue, API and dashboard, and the tables that they read.

Its dependencies are installed with `pip install 'prd2pr[server]'` and imported only by `prd2pr serve`. `app` builds the
application; `settings`, `database` and `reader` are shared by its parts.

May import `client`, `github`, `reports`, `views`, `state`, `prd` and `domain`.
"""
