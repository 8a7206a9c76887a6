"""A single conversation with the programmer about all stories of a PRD (`strategy: conversation`).

Messages are only appended. `history` stores messages and delivered stories durably before any story is judged;
`dialogue` asks the model and records the stories that it delivers; `deltas` applies a delivered story to the current
code. May import `roles`, not `phases`.
"""
