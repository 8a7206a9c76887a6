"""One module per command: it reads the options, calls a flow and prints."""
