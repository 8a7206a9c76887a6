"""The dashboard: HTML pages rendered with Jinja2 from a `server.reader.ViewReader`.

The static site uses the same templates. Offers `setup.add_dashboard` and `rendering`. May import `prd2pr.views`.
"""
