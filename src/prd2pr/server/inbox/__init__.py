"""The webhook's inbox: verify deliveries, store them durably in batches, and acknowledge them.

Offers `webhook.add_webhook` and the store of deliveries. May import the server's database and `prd2pr.github.events`.
"""
