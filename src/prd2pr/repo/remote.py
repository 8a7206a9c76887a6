"""A repository elsewhere, reached by its URL alone: no remote that somebody configured in the checkout takes part."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from prd2pr.errors import BranchProblem
from prd2pr.repo.process import GitRunner, Output

FETCHED = "refs/prd2pr/remote"
HEADS = "refs/heads/"
PROTOCOLS = "http:https"
TRIES = 4
PAUSE = 2.0  # seconds, doubled each time
# Faults of the line or of the host, which go by; a refusal does not.
PASSING = ("error: 5", "error: 429", "timed out", "Connection reset", "hung up", "early EOF", "unable to access")
REFUSALS = ("error: 401", "error: 403", "error: 404")
# What a network may need that the rest of git does not.
NETWORK = (
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"),
    *("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)


@dataclass(frozen=True)
class Remote:
    """`token` is asked before each call, so that one that was minted anew meanwhile is used."""

    runner: GitRunner
    url: str
    token: Callable[[], str] = field(repr=False)
    sleep: Callable[[float], None] = time.sleep

    def head(self, branch: str) -> str | None:
        """Where the branch is now; None: there is none."""
        return self._heads(f"refs/heads/{branch}").get(branch)

    def branches(self, prefix: str) -> dict[str, str]:
        """Every branch whose name begins so, with its head."""
        return {name: sha for name, sha in self._heads(f"refs/heads/{prefix}*").items() if name.startswith(prefix)}

    def _heads(self, pattern: str) -> dict[str, str]:
        """git compares a pattern with the end of each name, so a branch `a/refs/heads/main` comes along for `main`."""
        output = self._read("ls-remote", "--quiet", self.url, pattern)
        lines = (line.partition("\t") for line in output.text.splitlines())
        return {name.removeprefix(HEADS): sha for sha, _, name in lines if name.startswith(HEADS)}

    def fetch(self, sha: str, branch: str) -> None:
        """The branch's commits, down to what is here already."""
        spec = f"+refs/heads/{branch}:{FETCHED}/{branch}"
        self._read("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, spec)
        if self.runner.run("cat-file", "-e", f"{sha}^{{commit}}").status:
            raise BranchProblem(
                f"{branch} moved while it was fetched", where=self.url, remedy="run it again: it reads the branch anew"
            )

    def fetch_all(self, prefix: str) -> None:
        """The commits of every branch whose name begins so."""
        spec = f"+refs/heads/{prefix}*:{FETCHED}/{prefix}*"
        self._read("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, spec)

    def push(self, branch: str, new: str, old: str | None) -> Output:
        """By compare-and-swap: refused unless the branch is at `old`, or does not exist where `old` is None."""
        lease = f"--force-with-lease=refs/heads/{branch}:{old or ''}"
        return self._run("push", "--porcelain", "--no-verify", lease, self.url, f"{new}:refs/heads/{branch}")

    def delete(self, branch: str, old: str) -> Output:
        """Refused unless the branch is at `old`."""
        lease = f"--force-with-lease=refs/heads/{branch}:{old}"
        return self._run("push", "--porcelain", "--no-verify", lease, self.url, f":refs/heads/{branch}")

    def keep(self, ref: str, commit: str) -> Output:
        """Under a name of our own, outside of the branches."""
        return self._run("push", "--porcelain", "--no-verify", self.url, f"{commit}:{ref}")

    def _read(self, *arguments: str) -> Output:
        """What only reads is asked again while the trouble is one that goes by."""
        for pause in (*pauses(), None):
            output = self._run(*arguments)
            if output.status == 0:
                return output
            if pause is None or not is_passing(output.stderr):
                break
            self.sleep(pause)
        raise unreachable(self.url, output)

    def _run(self, *arguments: str) -> Output:
        secret = base64.b64encode(f"x-access-token:{self.token()}".encode()).decode()
        # By environment: an argument list can be read by everybody on the machine.
        settings = {
            "credential.helper": "",
            f"http.{self.url}.extraHeader": f"Authorization: Basic {secret}",
            "http.followRedirects": "false",
        }
        given = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_ALLOW_PROTOCOL": PROTOCOLS}
        for number, (key, value) in enumerate(settings.items()):
            given |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        proxies = {name: os.environ[name] for name in NETWORK if name in os.environ}
        return self.runner.run(*arguments, env={**proxies, **given})


def pauses() -> tuple[float, ...]:
    return tuple(PAUSE * 2**attempt for attempt in range(TRIES - 1))


def is_passing(said: str) -> bool:
    return any(words in said for words in PASSING) and not any(words in said for words in REFUSALS)


def unreachable(url: str, output: Output) -> BranchProblem:
    reason = output.stderr.splitlines()[-1] if output.stderr else f"exit status {output.status}"
    return BranchProblem(
        f"the repository on the code host cannot be read: {reason}",
        where=url,
        remedy="does the token still hold, and may it read the repository's contents? then run it again",
    )
