"""Orders given by API or dashboard: recorded, submitted through the inbox, and tracked until their outcome is known.

Nothing is carried out here. May import the server's database, event log and inbox.
"""
