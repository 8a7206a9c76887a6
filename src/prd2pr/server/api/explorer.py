"""`/docs`: the description of the API as Swagger UI, for holders of a token. All files come from this server."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from prd2pr.server.api.authentication import BEARER_SCHEME, authenticate
from prd2pr.server.api.problems import RequestDenied

PATH = "/docs"
LOG_IN = "/dashboard/log-in"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>prd2pr API</title>
<link rel="icon" href="dashboard/static/mark.svg">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="explorer"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
# Every path exists twice; the stable one is shown.
START = """fetch("openapi.json").then((answer) => answer.json()).then((spec) => {
  spec.paths = Object.fromEntries(Object.entries(spec.paths).filter(([path]) => path.startsWith("/api/v1/")));
  SwaggerUIBundle({spec, dom_id: "#explorer", deepLinking: true, persistAuthorization: false});
});
"""
HEADERS = {
    # Swagger UI sets style attributes and draws its icons from data addresses.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
ASSETS = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript", "start.js": "text/javascript"}


def add_explorer(app: FastAPI) -> None:
    app.add_api_route(PATH, show_explorer, methods=["GET"], include_in_schema=False)
    app.add_api_route(f"{PATH}/{{name}}", send_asset, methods=["GET"], include_in_schema=False)


async def show_explorer(request: Request) -> Response:
    """Show the page. A browser without a session is sent to the dashboard's log-in."""
    try:
        await check_token(request)
    except RequestDenied as denied:
        if denied.status != 401 or "text/html" not in request.headers.get("Accept", ""):
            raise
        return RedirectResponse(f"{request.scope.get('root_path', '')}{LOG_IN}", 303)
    return HTMLResponse(PAGE, headers=HEADERS)


async def send_asset(request: Request, name: str) -> Response:
    await check_token(request)
    if name not in ASSETS:
        raise RequestDenied(404, "There is no such file.")
    return Response(read_asset(name), media_type=ASSETS[name], headers=HEADERS)


async def check_token(request: Request) -> None:
    authenticate(request, await BEARER_SCHEME(request))


@cache
def read_asset(name: str) -> bytes:
    if name == "start.js":
        return START.encode()
    return files("fastapi_swagger").joinpath("resources", name).read_bytes()
