"""View models: what the pull request, the dashboard, the API and the terminal show, as frozen values.

`models` is the one model of PRD, story, step and run. `board` and `pull_request` build it; besides, there are the plan,
blocked stories, the burndown and the escaping of untrusted text. Templates render them.

May import `verification`, `languages`, `state` and `domain`.
"""
