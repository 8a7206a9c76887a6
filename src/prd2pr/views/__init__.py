"""View models: what the pull request, the dashboard, the API and the terminal show, as frozen values.

Offers the pull request view (`pull_request`), the board (`board`), the plan, blocked stories, the burndown and the
escaping of untrusted text. Templates render them.

May import `verification`, `languages`, `state` and `domain`.
"""
