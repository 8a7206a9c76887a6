"""Living docs: what the repository itself, the records of its stories and its memory say, as documents for people.

Records here are `NamedTuple`s: there are eighty of them, and a data class takes seven times as long to be made when the
module is loaded.

Pure: facts as frozen data go in, views for `templates/docs/` come out. Nothing here reads a clock, so the same facts
give the same bytes.
"""
