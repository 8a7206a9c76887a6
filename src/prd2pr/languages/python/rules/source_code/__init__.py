"""Rules about source code that is written for its tests instead of the requirement, or that smuggles in a feature.

`source_file.check_source_file` applies the rules that need one file. `data_files` and `doctests` compare two trees.
"""
