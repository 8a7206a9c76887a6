"""Publish a PRD's state on GitHub: pull request, checks, tracking issue, labels and status comment.

Everything is derived from the branch, so publishing twice changes nothing. Offers `publisher.publish` and
`closed_pull.publish_closed`. May import `github.messages`, `github.hub`, views, proof and workflow.
"""
