"""Entry points. They wire and print; they decide nothing."""
