"""What people read on the code host, as frozen data. The sentences are in `templates/github/`."""
