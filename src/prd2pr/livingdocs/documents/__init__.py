"""One function per living document: it returns the values that its template in `templates/docs/` renders.

Pure: facts in, values out. `livingdocs.render` maps documents to these builders.
"""
