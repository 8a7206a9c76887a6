"""The sandbox from the inside: a process with root's or a user namespace's powers, which gives them up step by step.

Everything here is run by prd2pr's own interpreter with `-I -S`: standard library alone, and as little of it as will do.
"""
