"""Durable processing of deliveries by dbos: queued per repository, retried, and finally dead-lettered.

The work itself runs in a GitHub workflow or another process. Offers `service.add_work_service`. May import
`prd2pr.github` and the server's database, inbox, orders and installations.
"""
