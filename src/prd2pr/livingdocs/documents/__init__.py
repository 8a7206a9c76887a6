"""One function per living document, which returns the values for its template in `templates/docs/`.

Pure: facts in, values out. `livingdocs.render` maps documents to these functions.
"""
