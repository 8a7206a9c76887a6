"""Programs that build and run compiled tests, inside of the sandbox."""
