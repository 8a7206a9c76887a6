"""A model of Python tests that the rules work on.

Offers the parsed test module, the files around it (`suite`), the code that one test can reach (`scope`), the values
that depend on the subject (`data_flow`, `subject_use`), and the values of constant expressions. Imports nothing from
`rules`.
"""
