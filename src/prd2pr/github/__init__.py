"""prd2pr on GitHub: turn events into commits, comments, checks and labels.

Offers `run.handle_event` (one workflow run) and `run.continue_wave` (the end of parallel stories). `client.hub`
accesses one repository through githubkit. `events` reads payloads, `commands` executes slash commands, `publish`
updates what people see, `messages` contains the texts, `jobs` runs stories in parallel, and `setup` registers a
repository.

May import `reports`, `proof`, `workflow`, `agents`, `planning`, `views`, `memory`, `verification`, `languages`,
`state`, `prd` and `domain`.
"""
