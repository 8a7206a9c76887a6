"""Puts this directory on the path, so that tests can import `fakes`."""
