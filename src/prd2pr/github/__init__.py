"""prd2pr on GitHub: from an event to commits, comments, checks and labels.

Offers `run.handle_event` (one workflow run) and `run.continue_wave` (the end of parallel stories). `client.hub`
is one repository, reached with githubkit. `events` reads payloads, `commands` executes slash commands, `publish` writes
what people see, `messages` holds its texts, `jobs` runs stories in parallel, `setup` registers a repository.

May import `reports`, `proof`, `workflow`, `agents`, `planning`, `views`, `memory`, `verification`, `languages`,
`state`, `prd` and `domain`.
"""
