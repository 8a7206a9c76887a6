"""What people read on GitHub, as frozen data. The sentences are in `templates/github/`.

Offers the reply types, the status, check and tracking views, the markers, and `rendering`. May import views,
verification, planning and domain; no input or output.
"""
