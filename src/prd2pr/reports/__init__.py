"""Reports for people: the pull request, its local page, the board, and the data behind queries.

`pull_request` builds and publishes the pull request of a branch, `rendering` turns it into Markdown and HTML, `board`
reads the data for the server's board, and `story_reader` reads the records of a PRD's stories.

May import `proof`, `workflow`, `views`, `state`, `prd` and `domain`.
"""
