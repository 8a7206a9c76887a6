"""One module per living document: each builds the view that its template in `templates/docs/` renders.

Pure: facts in, views out. `livingdocs.render` maps documents to these builders.
"""
