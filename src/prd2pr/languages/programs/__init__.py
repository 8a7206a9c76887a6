"""Programs that build and run tests inside the sandbox.

They are started by path, use only the standard library, and import each other by file name.
"""
