"""The API for programs: thin over `server.reading` and the same flows, each route with the scope that it needs."""
