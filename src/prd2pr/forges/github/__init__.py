"""GitHub, by way of githubkit, which is imported when a hub is opened and not before: `open.open_hub`."""
