"""View models of the dashboard, the API and the static site, built from a PRD's state.

Offers models, cards, story pages, metrics, costs, circuit breakers, workers and charts. May import
`views.pull_request`, `domain`, `state` and `verification`.
"""
