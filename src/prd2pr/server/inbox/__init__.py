"""The webhook's inbox: verify deliveries, store them durably and in batches, and acknowledge them.

Offers `webhook.add_webhook` and the deliveries' store. May import the server's database and `prd2pr.github.events`.
"""
