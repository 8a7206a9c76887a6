"""A model of Python tests that the rules work on.

It offers the parsed test module, the files around it (`suite`), what one test can reach (`scope`), which values depend
on the subject (`data_flow`, `subject_use`), and the values of constant expressions. Imports nothing of `rules`.
"""
