"""The JSON API under `/api/v1`: a thin layer over `server.reader` and `server.orders`, with a token scope per route.

Offers `routes.add_api`. Requests and responses use the models of `prd2pr.client`. May import the server's database,
orders and readers.
"""
