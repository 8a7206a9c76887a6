"""The messages that people read on GitHub, as frozen data. The wording is in `templates/github/`.

Offers the reply types, the status, check and tracking views, the markers, and `rendering`. May import views,
verification, planning and domain. Does no I/O.
"""
