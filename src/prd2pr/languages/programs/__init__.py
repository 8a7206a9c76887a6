"""Programs that build and run tests inside the sandbox.

They are started by path with the standard library only, and import each other by file name.
"""
