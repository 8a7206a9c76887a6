"""The GitHub API, accessed through githubkit.

Offers `factory.open_hub` and `factory.make_token_source`; githubkit is imported only when they are called. `calls` adds
retries, `errors` turns error responses into named errors with a remedy, and there is one module for each resource. May
import domain and errors.
"""
