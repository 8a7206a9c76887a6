"""The table of commands, from which help, reference page and dispatch are generated.

Handlers are named, not imported, so that each call imports only what it uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CliOption:
    names: tuple[str, ...]
    help: str
    settings: tuple[tuple[str, Any], ...] = ()  # keyword arguments of argparse


@dataclass(frozen=True)
class TableCommand:
    name: str
    help: str
    handler: str  # the module under prd2pr.cli.verbs, and the function
    exits: str
    options: tuple[CliOption, ...] = ()
    example: str = ""


def option(*names: str, help: str, **settings: Any) -> CliOption:  # noqa: A002 - name required by argparse
    return CliOption(names, help, tuple(settings.items()))


JSON = option("--json", help="Print JSON", action="store_true")
REPO = option(
    "--repo", help="Repository (default: the one that contains the current directory)", metavar="DIR", default="."
)
MODEL = option(
    "--model",
    help="Model to use: anthropic:ID, openai:ID, command:PROGRAM, plugin:NAME, human or replay:FILE",
    metavar="SPEC",
)
RECORD = option("--record", help="Write the model's replies to a transcript, for use with replay:FILE", metavar="FILE")
PRD_IN_PROGRESS = option("prd", help="PRD file (default: the only one in progress)", metavar="PRD", nargs="?")
YES = option("--yes", help="Build the plan without asking, also with `approval: plan`", action="store_true")
AGAIN = option("--again", help="Make a new plan instead of showing the stored one", action="store_true")
STORY = option("--story", help="Work on this story only", metavar="ID")

COMMANDS: tuple[TableCommand, ...] = (
    TableCommand(
        "demo",
        "Build a sample PRD in a sample repository with a replayed model, up to the PR page",
        "demo:main",
        "0",
        (
            option("--dir", help="Directory of the demo; if it exists, the demo is resumed", metavar="D"),
            option(
                "--language",
                help="Language of the sample; languages other than Python need their toolchain",
                choices=("python", "javascript", "typescript", "go", "rust"),
                default="python",
            ),
        ),
        "prd2pr demo --dir demo",
    ),
    TableCommand(
        "init",
        "Write .prd2pr.yml, the workflow and prds/ with a template; existing files are kept",
        "init:main",
        "0, or 1",
        (
            REPO,
            option(
                "--action",
                help="Action to use in the workflow (default: the commit of this prd2pr)",
                metavar="OWNER/REPO@SHA",
            ),
            option(
                "--standalone",
                action="store_true",
                help="Write the workflow with all jobs, to change them or for GitHub Enterprise Server, instead of a "
                "call of prd2pr's reusable workflow",
            ),
            option("--verify", help="Also write the workflow that verifies every pull request", action="store_true"),
        ),
        "prd2pr init",
    ),
    TableCommand(
        "doctor",
        "Check the setup and suggest fixes",
        "doctor:main",
        "0 no problem, 1 problems found",
        (
            REPO,
            JSON,
            option(
                "--clear-cache",
                action="store_true",
                help="Delete cached results (including those of `verify`) and installed test dependencies, then exit",
            ),
        ),
        "prd2pr doctor",
    ),
    TableCommand(
        "plan",
        "Preview the stories of a PRD with an estimate of time and cost; `run` builds exactly this plan",
        "plan:main",
        "0, or 1",
        (option("prd", help="PRD file", metavar="PRD"), REPO, MODEL, RECORD, JSON, AGAIN),
        "prd2pr plan prds/loyalty.md",
    ),
    TableCommand(
        "run",
        "Implement a PRD story by story, up to the PR page",
        "run:main",
        "0 done, 1 stopped with a reason",
        (
            option("prd", help="PRD file", metavar="PRD"),
            REPO,
            STORY,
            MODEL,
            RECORD,
            JSON,
            YES,
            option("--max-steps", help="Stop after N phases", metavar="N", type=int),
            option(
                "--pr",
                help="Push the branch after the run and open or update its pull request, with GITHUB_TOKEN or the "
                "login of gh; without either, print the commands",
                action="store_true",
            ),
            option(
                "--workers",
                help="Number of stories to work on in parallel (0: one per core, at most 4)",
                metavar="N",
                type=int,
            ),
        ),
        "prd2pr run prds/loyalty.md --model anthropic:claude-sonnet-5-5",
    ),
    TableCommand(
        "next",
        "Run one phase: work, gate and commit",
        "run:run_one_phase",
        "0, or 1 with a reason",
        (PRD_IN_PROGRESS, REPO, STORY, MODEL, RECORD, JSON, YES),
        "prd2pr next",
    ),
    TableCommand(
        "command",
        "Run a slash command, as in a comment on GitHub: sprint, backlog, feedback, tdd …",
        "command:main",
        "0, or 1 if it is refused",
        (
            option("words", help="The command, with or without its slash", metavar="WORD", nargs="+"),
            option("--prd", help="PRD file (default: the only one in progress)", metavar="PRD"),
            REPO,
            MODEL,
            JSON,
        ),
        "prd2pr command sprint plan loyalty-1",
    ),
    TableCommand(
        "check",
        "Judge a pull request of any form: its tests must fail without its source, and no test may be weakened",
        "check:main",
        "0 accepted, 1 refused, 2 could not judge",
        (
            option("--base", help="Branch or commit to compare with (default: the default branch)", metavar="REV"),
            option(
                "--head",
                help="Commit to judge (default: HEAD with the uncommitted changes of the checkout)",
                metavar="REV",
            ),
            option(
                "--refactoring",
                help="The changeset does not change behavior: compare old and new code instead of requiring tests",
                action="store_true",
            ),
            option("--sarif", help="Also write the findings to FILE as SARIF 2.1.0", metavar="FILE"),
            option(
                "--job",
                help="In GitHub Actions: check the event's pull request and write annotations, summary and outputs",
                action="store_true",
            ),
            REPO,
            JSON,
        ),
        "prd2pr check --base main",
    ),
    TableCommand(
        "mcp",
        "Offer check, gate and explain to coding agents over the Model Context Protocol, on stdin and stdout",
        "mcp:main",
        "0",
        (REPO,),
        "claude mcp add prd2pr -- prd2pr mcp",
    ),
    TableCommand(
        "gate",
        "Judge the change between two commits, including commits by people",
        "gate:main",
        "0 accepted, 1 refused, 2 could not judge",
        (
            option(
                "phase",
                help="Gate to apply: red, green, refactor or integrated",
                choices=("red", "green", "refactor", "integrated"),
            ),
            option("--base", help="Commit to compare with", metavar="REV", required=True),
            option("--head", help="Commit to judge (default: HEAD)", metavar="REV", default="HEAD"),
            option("--story", help="Story whose criteria and design apply", metavar="ID"),
            REPO,
            JSON,
        ),
        "prd2pr gate green --base red1 --head mine",
    ),
    TableCommand(
        "verify",
        "Prove every step of a branch again, from the commits alone",
        "verify:main",
        "0 all proved, 1 not all proved, 2 could not judge",
        (
            option(
                "range",
                help="A..B, a branch, or a merged commit (default: the current branch, else every prd2pr branch)",
                metavar="RANGE",
                nargs="?",
            ),
            REPO,
            JSON,
            option(
                "--pr",
                help="Prove pull request N, and check that the merge contains exactly what was proved",
                metavar="N",
                type=int,
            ),
            option("--markdown", help="Write the report as Markdown to FILE", metavar="FILE"),
            option(
                "--fresh",
                help="Run all tests again, and ignore results of earlier verify runs on this machine",
                action="store_true",
            ),
            option(
                "--workers",
                help="Number of steps to prove in parallel (default: one per core, or 1 without a complete sandbox)",
                metavar="N",
                type=int,
            ),
            option("--attest", help="Write an in-toto statement for each proved step to DIR", metavar="DIR"),
            option(
                "--attestation",
                "--statements",
                dest="statements",
                help="Also check this statement or bundle, or those in a directory (default: prd2pr-statements/, if "
                "it exists)",
                metavar="PATH",
            ),
            option(
                "--job", help="Run as a check in GitHub Actions, for the pull request of the event", action="store_true"
            ),
        ),
        "prd2pr verify main..prd2pr/loyalty",
    ),
    TableCommand(
        "explain",
        "Explain a finding or an error, with an example and how to resolve it",
        "explain:main",
        "0, or 2 if unknown",
        (option("code", help="Code, such as RED104, GRN201 or ERR401", metavar="CODE"), JSON),
        "prd2pr explain RED104",
    ),
    TableCommand(
        "status",
        "Show the progress of each PRD and the next step",
        "status:main",
        "0",
        (option("prd", help="Id or file of a PRD", metavar="PRD", nargs="?"), REPO, JSON),
        "prd2pr status",
    ),
    TableCommand(
        "answer",
        "Answer a question of the plan; the stories that wait for it continue",
        "decisions:answer",
        "0, or 1 if there is no such question",
        (
            option("question", help="Number of the question, as in Q2", metavar="QUESTION"),
            option("text", help="The answer", metavar="TEXT"),
            option("prd", help="PRD file (default: the only one in progress)", metavar="PRD", nargs="?"),
            REPO,
            JSON,
        ),
        'prd2pr answer Q2 "14 days" prds/loyalty.md',
    ),
    TableCommand(
        "reset",
        "Reset tripped circuit breakers and resume",
        "decisions:reset",
        "0, or 1 if none is tripped",
        (
            PRD_IN_PROGRESS,
            option(
                "--circuit", help="Reset only this breaker: green, push, system or the name of a model", metavar="NAME"
            ),
            REPO,
            JSON,
        ),
        "prd2pr reset prds/loyalty.md",
    ),
    TableCommand(
        "logs",
        "Show what the runs did: model calls, verdicts, tokens",
        "logs:main",
        "0",
        (
            option("prd", help="Id or file of a PRD", metavar="PRD", nargs="?"),
            option("--tokens", help="Show token usage by role, story and part of the prompt", action="store_true"),
            REPO,
            STORY,
            JSON,
        ),
        "prd2pr logs --tokens",
    ),
    TableCommand(
        "evidence",
        "Print the recorded evidence of a step: a summary, or everything with --json",
        "evidence:main",
        "0, 1 if STEP is not valid, 2 if there is no such step",
        (
            option(
                "step", help="Step as in the commit's trailer Tdd-Step, with or without the PRD's id", metavar="STEP"
            ),
            REPO,
            JSON,
        ),
        "prd2pr evidence loyalty-1/3",
    ),
    TableCommand(
        "query",
        "Query the project's memory and history: similar-failures TEXT, correction-factor, scope-creep, stale-docs, "
        "slow-agents, complexity-trend [FILE], trace [ID]",
        "query:main",
        "0, or 2 if the query is unknown",
        (
            option("name", help="Name of the query", metavar="NAME", nargs="?"),
            option("text", help="Argument of the query, if it takes one", metavar="TEXT", nargs="?"),
            option("--sql", help="Query the index with one read-only SELECT statement", metavar="SQL"),
            option("--limit", help="Maximum number of rows (at most 1000)", metavar="N", type=int),
            REPO,
            JSON,
        ),
        'prd2pr query similar-failures "send a message when points expire"',
    ),
    TableCommand(
        "docs",
        "List the living docs that would change; write them, or check that they are current",
        "docs:main",
        "0, or 1 if --check finds docs that are stale or cannot be updated",
        (
            option(
                "--write", help="Write them into the checkout; text outside their markers is kept", action="store_true"
            ),
            option(
                "--check",
                help="Change nothing; exit with 1 if any is stale or cannot be updated",
                action="store_true",
            ),
            option("--out", help="Write them into this directory instead", metavar="DIR"),
            option("--site", help="Write the dashboard of all PRDs as a static site, for GitHub Pages", metavar="DIR"),
            REPO,
            JSON,
        ),
        "prd2pr docs --check",
    ),
    TableCommand("schema", "Print the JSON Schema of .prd2pr.yml", "schema:main", "0", (JSON,), "prd2pr schema"),
    TableCommand(
        "action",
        "Run as the GitHub Action (entry point of action.yml)",
        "action:main",
        "0, or 1 with an annotation",
        (),
        "",
    ),
    TableCommand(
        "replay",
        "Process a GitHub event from a file, as `action` does; with --dry-run, show what it would do",
        "replay:main",
        "0, or 1",
        (
            option(
                "-e", "--event", help="Name of the event: push, issues, issue_comment …", metavar="EVENT", required=True
            ),
            option("-p", "--payload", help="JSON file with the payload of the event", metavar="FILE", required=True),
            option("--dry-run", help="Show what would be done, and change nothing", action="store_true"),
            JSON,
        ),
        "prd2pr replay -e issue_comment -p event.json --dry-run",
    ),
    TableCommand(
        "serve",
        "Run the App's server: webhook, API and dashboard; requires prd2pr[server]",
        "serve:main",
        "0 if stopped by a signal, or 1",
        (
            option(
                "words",
                help="Empty to serve; or `token create`, `token list`, `token revoke ID`",
                metavar="WORD",
                nargs="*",
            ),
            option("--name", help="Name of the token, recorded with every request that uses it", metavar="NAME"),
            option("--scope", help="What the token may do", choices=("read", "operate", "admin")),
            option(
                "--repo",
                help="Repositories of the token: owner/name, 'owner/*' or '*'; can be repeated",
                metavar="REPO",
                action="append",
                dest="token_repos",
            ),
            option("--days", help="Days until the token expires (default: 90; 0: never)", metavar="N", type=float),
            option(
                "--rebuild",
                help="Discard everything that was read from branches, so that the server reads it again",
                action="store_true",
            ),
            option("--config", help="Settings as YAML; the environment and options take precedence", metavar="FILE"),
            option("--host", help="Address to listen on (default: 127.0.0.1)", metavar="ADDRESS"),
            option("--port", help="Port to listen on (default: 8080)", metavar="N", type=int),
            option("--database", help="Database: sqlite:///FILE or postgresql://…", metavar="URL"),
            option("--dead", help="List the failed deliveries with their reasons, and exit", action="store_true"),
            option(
                "--replay-dead",
                help="Retry the failed deliveries, all or the one with ID, and exit",
                metavar="ID",
                nargs="?",
                const="",
            ),
            option("--public-url", help="URL under which people and GitHub reach this server", metavar="URL"),
            option(
                "--setup",
                help="Show a page that creates the GitHub App, and store its key in DIR (default: prd2pr-app)",
                metavar="DIR",
                nargs="?",
                const="prd2pr-app",
            ),
            option("--organization", help="With --setup: owner of the App (default: your own account)", metavar="ORG"),
            option(
                "--demo",
                help="Run the demo in DIR (default: prd2pr-demo) and show it on this machine, without a token",
                metavar="DIR",
                nargs="?",
                const="prd2pr-demo",
            ),
            option("--backup", help="Copy the SQLite database to FILE, even while the server runs", metavar="FILE"),
            option("--restore", help="Replace the database with a backup", metavar="FILE"),
        ),
        "prd2pr serve --port 8080",
    ),
)
