"""Durable processing of deliveries: claimed per repository, started elsewhere, retried, and finally dead-lettered.

Offers `service.add_work_service`. May import `prd2pr.github` and the server's database, inbox, orders, installations.
"""
