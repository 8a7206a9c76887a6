"""Events from GitHub: the event filter, the payload models, and the event types that the rest of prd2pr uses.

Offers `event_filter.explain_ignored`, `events.read_event` and `delivery.summarize_delivery` (for the server's inbox).
May import domain and state; `event_filter` uses only the standard library.
"""
