"""One append-only conversation with the programmer about the stories of a PRD (`strategy: conversation`).

`history` stores messages and delivered stories durably, before any of them is judged; `dialogue` asks the model and
takes what it delivers; `deltas` applies a delivered story to the code of today. May import `roles`, not `phases`.
"""
