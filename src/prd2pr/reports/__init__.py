"""Data and renderings for people: the pull request, its local page, the board, and the scope of queries.

`pull_request` builds and publishes the pull request of a branch, `rendering` turns it into Markdown and HTML, `board`
reads the data of the server's board, `story_reader` the records of a PRD's stories.

May import `proof`, `workflow`, `views`, `state` and `domain`.
"""
