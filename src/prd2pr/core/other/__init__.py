"""Languages beside Python: one way through the gates for all of them, with a short description of each. Pure."""
