"""Orders from the API or dashboard: recorded, submitted through the inbox, and tracked until their outcome is known.

Orders are executed elsewhere. May import the server's database, event log and inbox.
"""
