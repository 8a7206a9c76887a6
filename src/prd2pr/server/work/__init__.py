"""Durable processing of deliveries by dbos: queued per repository, started elsewhere, retried, finally dead-lettered.

Offers `service.add_work_service`. May import `prd2pr.github` and the server's database, inbox, orders, installations.
"""
