"""The App: how it is created, how its key is kept, and what it offers to the repositories that it comes to."""
