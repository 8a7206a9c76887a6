"""The baseline of `webhook_vs_bare_asgi`: append the body to a file, fsync and answer, with the same uvicorn.

It checks no signature, reads nothing back and stores duplicates.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class Bare:
    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        os.write(self.file, body)
        os.fsync(self.file)
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(Bare(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), access_log=False, lifespan="off")
