"""The GitHub API, through githubkit.

Offers `factory.open_hub` and `factory.make_token_source`; githubkit is imported only when they are called. `calls` adds
retries, `errors` names refusals with their remedy, and one module per resource reads and writes it. May import domain
and errors.
"""
