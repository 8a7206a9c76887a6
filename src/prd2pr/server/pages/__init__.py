"""The dashboard: pages by Jinja2 from what `server.reading` answers. The static site is made by the same templates."""
