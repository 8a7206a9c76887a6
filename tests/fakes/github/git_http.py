"""git over HTTP: `git clone`, `fetch` and `push` against the bare repositories, with the token's permissions."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from urllib.parse import urlencode

from fakes.github.bare import CLEAN
from fakes.github.context import allows
from fakes.github.fake import FakeGitHub
from fakes.github.handler import credential, live_token
from fakes.github.state import LEVELS, Repository, Token
from fakes.github.wire import Answer, Refusal, Request

GIT_PATH = re.compile(r"/(?P<name>[^/]+/[^/]+?)(?:\.git)?/(?P<rest>info/refs|git-upload-pack|git-receive-pack|HEAD)$")


def serve_git(fake: FakeGitHub, request: Request) -> Answer:
    fits = GIT_PATH.match(request.path)
    assert fits
    try:
        repo = _allowed(fake, request, fits["name"].lower())
    except Refusal as refusal:
        return _plain(refusal)
    return _backend(fake, repo, request, fits["rest"])


def _plain(refusal: Refusal) -> Answer:
    headers = {"content-type": "text/plain"}
    if refusal.status == 401:
        headers["www-authenticate"] = 'Basic realm="GitHub"'
    return Answer(refusal.status, headers=headers, raw=refusal.message.encode())


def _allowed(fake: FakeGitHub, request: Request, name: str) -> Repository:
    pushes = "git-receive-pack" in (request.query.get("service"), request.path.rpartition("/")[2])
    word = credential(request)
    repo = fake.state.repositories.get(name)
    if not word:
        if pushes or repo is None or repo.private:
            raise Refusal(401, "Repository not found.")
        return repo
    token = live_token(fake, word)
    if repo is None or (token.repositories is not None and name not in token.repositories):
        raise Refusal(404, "Repository not found.")
    if repo.archived and pushes:
        raise Refusal(403, "This repository was archived so it is read-only.")
    if not _may(token, repo, "write" if pushes else "read"):
        raise Refusal(403, f"Permission to {repo.full_name}.git denied to {token.login}.")
    return repo


def _may(token: Token, repo: Repository, access: str) -> bool:
    if token.kind != "user":
        return allows(token, f"contents:{access}")
    held = repo.collaborators.get(token.login.lower(), "none")
    return LEVELS.index(held) >= LEVELS.index("write" if access == "write" else "read") or (
        access == "read" and not repo.private
    )


def _backend(fake: FakeGitHub, repo: Repository, request: Request, rest: str) -> Answer:
    body = gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body
    token = fake.state.tokens.get(credential(request))
    workflows = token is None or token.kind == "user" or allows(token, "workflows:write")
    env = {
        "PATH": os.environ["PATH"], **CLEAN, "GIT_PROJECT_ROOT": str(fake.directory), "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repo.full_name}.git/{rest}", "REQUEST_METHOD": request.method,
        "QUERY_STRING": urlencode(dict(request.query)), "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": token.login if token else "", "REMOTE_ADDR": "127.0.0.1",
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""), "FAKE_WORKFLOWS": "yes" if workflows else "no",
        "FAKE_COMPARED": "yes" if repo.compares_workflows else "no",
        "FAKE_PROTECTED": " ".join(f"refs/heads/{name}" for name in repo.protected),
        # The bare repositories may belong to another user than the one who runs the tests.
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
    }  # fmt: skip
    done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, check=False, env=env)
    if done.returncode:
        fake.violate(f"git http-backend failed: {done.stderr.decode('utf-8', 'replace')}")
    return _from_cgi(done.stdout)


def _from_cgi(output: bytes) -> Answer:
    head, _, body = output.partition(b"\r\n\r\n")
    headers = {
        name.strip().lower(): word.strip()
        for name, _, word in (line.partition(":") for line in head.decode().splitlines())
    }
    status = int(headers.pop("status", "200").split()[0])
    return Answer(status, headers=headers, raw=body)
