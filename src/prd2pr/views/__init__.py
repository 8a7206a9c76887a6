"""View models: frozen values that the pull request, the dashboard, the API and the terminal show.

`models` is the single model of PRD, story, step and run, which `stories`, `board` and `pull_request` build. Other
modules cover the plan, blocked stories, the burndown and the escaping of untrusted text. Templates render the views.

May import `verification`, `languages`, `state`, `prd` and `domain`.
"""
