"""Judgement: what the roles beside the cycle answer, and what code makes of it.

A model gives facts and reasons; verdicts, numbers and what is added to a plan follow from them by the rules here.
"""
