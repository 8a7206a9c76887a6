"""prd2pr: push a PRD, get a pull request in which every commit proves itself."""

__version__ = "0.3.0"
