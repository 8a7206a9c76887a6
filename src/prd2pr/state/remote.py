"""A remote repository, accessed only by its URL; remotes configured in the checkout are not used."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile

from prd2pr.errors import BranchProblem
from prd2pr.retry import RetryPolicy
from prd2pr.state.git_process import GitOutput, GitRunner

FETCHED_REFS = "refs/prd2pr/remote"
HEADS = "refs/heads/"
PROTOCOLS = "http:https"
GIT_RETRIES = RetryPolicy(tries=4, first_wait=2.0)
# Network or server errors that may be transient; a refusal is not.
TRANSIENT_ERRORS = (
    "error: 5",
    "error: 429",
    "timed out",
    "Connection reset",
    "hung up",
    "early EOF",
    "unable to access",
)
PERMANENT_ERRORS = ("error: 401", "error: 403", "error: 404")
# Variables that only network access needs.
NETWORK_VARIABLES = (
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"),
    *("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)


@dataclass(frozen=True)
class RefUpdate:
    """A ref that moves from `old` to `new`. None: it does not exist before, or is deleted. Equal: it must not move."""

    ref: str
    new: str | None
    old: str | None


@dataclass(frozen=True)
class Remote:
    """A remote repository. `token` is called before each request, so that a renewed token is used."""

    runner: GitRunner
    url: str
    token: Callable[[], str] = field(repr=False)
    policy: RetryPolicy = GIT_RETRIES

    def head(self, branch: str) -> str | None:
        """Return the head of the branch, or None if it does not exist."""
        return self._heads(f"refs/heads/{branch}").get(branch)

    def default_branch(self) -> str:
        """Return the name of the default branch, or an empty string if the remote has none."""
        lines = self._read("ls-remote", "--quiet", "--symref", self.url, "HEAD").text.splitlines()
        names = (line.removeprefix("ref: ").partition("\t")[0] for line in lines if line.startswith("ref: "))
        return next(names, "").removeprefix(HEADS)

    def is_behind(self, commit: str, other: str, path: str) -> bool:
        """Whether only `other`, which is fetched, has changed a path since the histories of the two parted."""
        self._read("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, other)
        fork = self.runner.run("merge-base", commit, other).text.strip()
        ours, theirs, before = (
            self.runner.run("rev-parse", "--quiet", "--verify", f"{each}:{path}").text.strip()
            for each in (commit, other, fork)
        )
        return bool(fork) and ours == before != theirs

    def branches(self, prefix: str) -> dict[str, str]:
        """Return every branch whose name starts with `prefix`, with its head."""
        return {name: sha for name, sha in self._heads(f"refs/heads/{prefix}*").items() if name.startswith(prefix)}

    def _heads(self, pattern: str) -> dict[str, str]:
        """Map branches to their heads, without names such as `a/refs/heads/main`, which git's patterns also match."""
        return {name.removeprefix(HEADS): sha for name, sha in self.refs(pattern).items() if name.startswith(HEADS)}

    def refs(self, *patterns: str) -> dict[str, str]:
        """Map the full names of the matching refs to their commits."""
        output = self._read("ls-remote", "--quiet", self.url, *patterns)
        lines = (line.partition("\t") for line in output.text.splitlines())
        return {name: sha for sha, _, name in lines}

    def fetch(self, sha: str, branch: str) -> None:
        """Fetch the commits of a branch."""
        spec = f"+refs/heads/{branch}:{FETCHED_REFS}/{branch}"
        self._read("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, spec)
        if self.runner.run("cat-file", "-e", f"{sha}^{{commit}}").status:
            raise BranchProblem(f"{branch} moved while it was fetched", where=self.url, remedy="run the command again")

    def fetch_all(self, prefix: str) -> None:
        """Fetch the commits of every branch whose name starts with `prefix`."""
        spec = f"+refs/heads/{prefix}*:{FETCHED_REFS}/{prefix}*"
        self._read("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, spec)

    def fetch_ref(self, ref: str) -> None:
        """Fetch a ref outside the branches, under the same name."""
        spec = f"+{ref}:{ref}"
        self._read("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", self.url, spec)

    def push(self, *updates: RefUpdate) -> GitOutput:
        """Push by compare-and-swap: all updates, or none of them if one ref is not as expected."""
        leases = [f"--force-with-lease={each.ref}:{each.old or ''}" for each in updates]
        specs = [f"{each.new or ''}:{each.ref}" for each in updates]
        atomic = ["--atomic"] if len(updates) > 1 else []
        return self._run("push", "--porcelain", "--no-verify", *atomic, *leases, self.url, *specs)

    def delete(self, branch: str, old: str) -> GitOutput:
        """Delete the branch; refused unless it is at `old`."""
        lease = f"--force-with-lease=refs/heads/{branch}:{old}"
        return self._run("push", "--porcelain", "--no-verify", lease, self.url, f":refs/heads/{branch}")

    def push_ref(self, ref: str, commit: str) -> GitOutput:
        """Push a commit to a ref outside the branches."""
        return self._run("push", "--porcelain", "--no-verify", self.url, f"+{commit}:{ref}")

    def _read(self, *arguments: str) -> GitOutput:
        """Run a read-only command, and retry it after transient errors."""
        attempt, output = 1, self._run(*arguments)
        while output.status and is_transient_error(output.stderr) and self.policy.pause(attempt, output.stderr):
            attempt, output = attempt + 1, self._run(*arguments)
        if output.status:
            raise build_unreachable_error(self.url, output)
        return output

    def _run(self, *arguments: str) -> GitOutput:
        header = base64.b64encode(f"x-access-token:{self.token()}".encode()).decode()
        proxies = {name: os.environ[name] for name in NETWORK_VARIABLES if name in os.environ}
        with _share_secret(f'[http "{self.url}"]\n\textraHeader = Authorization: Basic {header}\n') as (path, shared):
            settings = {"credential.helper": "", "http.followRedirects": "false", "include.path": path}
            configuration = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_ALLOW_PROTOCOL": PROTOCOLS}
            for number, (key, value) in enumerate(settings.items()):
                configuration |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
            return self.runner.run(*arguments, env={**proxies, **configuration}, shared=shared)


@contextmanager
def _share_secret(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the path of a file with the text for a child process, and the descriptors that the child must inherit.

    The file has no name where the system allows that. An argument or a variable could be read by other programs, for
    example in `/proc`.
    """
    if not hasattr(os, "memfd_create"):
        with NamedTemporaryFile(prefix="prd2pr-") as file:  # readable only by this user
            file.write(text.encode())
            file.flush()
            yield file.name, ()
        return
    descriptor = os.memfd_create("prd2pr")
    try:
        os.write(descriptor, text.encode())
        yield f"/proc/self/fd/{descriptor}", (descriptor,)
    finally:
        os.close(descriptor)


def is_transient_error(message: str) -> bool:
    return any(text in message for text in TRANSIENT_ERRORS) and not any(text in message for text in PERMANENT_ERRORS)


def build_unreachable_error(url: str, output: GitOutput) -> BranchProblem:
    reason = output.stderr.splitlines()[-1] if output.stderr else f"exit status {output.status}"
    return BranchProblem(
        f"the remote repository cannot be read: {reason}",
        where=url,
        remedy="check that the token is valid and may read the repository's contents, then run the command again",
    )
