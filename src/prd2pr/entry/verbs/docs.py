"""`prd2pr docs`: the living docs of the checkout, rendered; written or checked on demand."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from prd2pr.core.wording import count, plain
from prd2pr.entry.ground import open_repository, path_rules, read_config
from prd2pr.errors import UsageProblem
from prd2pr.flows.living_docs import DocumentState, Rendered, render_tree
from prd2pr.repo.git import Git


def main(options: argparse.Namespace) -> int:
    if sum(map(bool, (options.write, options.check, options.out, options.site))) > 1:
        raise UsageProblem(
            "--write, --check, --out and --site exclude each other", where="docs", remedy="give one of them"
        )
    if options.site:
        return site(options)
    with open_repository(options.repo) as git:
        config = read_config(git, git.rev("HEAD"))
        if not config.docs.enabled and not options.out:
            return switched_off(options)
        if options.write and git.workdir is None:
            raise UsageProblem(
                "there is no checkout to write into", where=str(git.common_dir), remedy="name a directory: --out DIR"
            )
        # As the files lie there, committed or not: what is documented is what is there.
        tree, rules, elsewhere = git.checkout_tree(), path_rules(config), bool(options.out)
        rendered = render_tree(git, tree, config.docs.directory, rules, elsewhere=elsewhere)
        rendered = rendered if elsewhere else without_ignored(git, rendered)
        if options.write and git.workdir:
            write_into(git.workdir, rendered)
    if options.out:
        write_out(Path(options.out), rendered)
    return told(options, rendered)


def site(options: argparse.Namespace) -> int:
    """The dashboard as files. Of the server's packages only those are loaded that need none of its libraries."""
    from prd2pr.entry.github_checks import origin_of
    from prd2pr.server.disk import DiskReading
    from prd2pr.server.site import write_site

    with open_repository(options.repo) as git:
        place = git.workdir or git.common_dir
        name = origin_of(git, os.environ) or place.resolve().name
    with DiskReading({name: place}, still=True) as reading:
        pages = write_site(reading, Path(options.site))
        problems = [problem for project in reading.projects() for problem in project.problems]
    if options.json:
        facts = {"site": options.site, "repository": name, "pages": pages, "problems": problems}
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    else:
        told = "".join(f"problem: {plain(problem)}\n" for problem in problems)
        first = Path(options.site) / "index.html"
        sys.stdout.write(f"{told}{count(pages, 'page')} of {name}; begin with {first}\n")
    return 0


def without_ignored(git: Git, rendered: Rendered) -> Rendered:
    """A file that `.gitignore` names is not part of the tree: it is somebody's own, and is not overwritten."""
    if git.workdir is None:
        return rendered
    root = git.workdir
    return rendered.left_alone(
        {
            each.path: "git ignores it, and it is there already"
            for each in rendered.documents
            if each.changes and each.existing is None and os.path.lexists(root / each.path)
        }
    )


def write_into(root: Path, rendered: Rendered) -> None:
    for path, content in rendered.files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def write_out(directory: Path, rendered: Rendered) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for each in rendered.documents:
        content = each.existing if each.content is None else each.content
        if content is not None:
            (directory / each.document.file).write_bytes(content)


def switched_off(options: argparse.Namespace) -> int:
    if options.json:
        sys.stdout.write(json.dumps({"enabled": False, "documents": [], "stale": [], "problems": []}, indent=2) + "\n")
    else:
        sys.stdout.write("Living docs are switched off here (docs.enabled in .prd2pr.yml).\n")
    return 0


def told(options: argparse.Namespace, rendered: Rendered) -> int:
    stale = [each for each in rendered.documents if each.changes]
    if options.json:
        sys.stdout.write(json.dumps(as_json(rendered, written=options.write), indent=2) + "\n")
    else:
        sys.stdout.write(shown(options, rendered, stale))
    # One that was left as it is may say anything: a job that holds the documents is not told that they are current.
    return 1 if options.check and (stale or rendered.unchecked) else 0


def as_json(rendered: Rendered, *, written: bool) -> dict[str, object]:
    return {
        "enabled": True,
        "written": written,
        "documents": [
            {"name": each.document.name, "path": each.path, "state": each.word, "problem": each.problem}
            for each in rendered.documents
        ],
        "stale": [] if written else [each.path for each in rendered.documents if each.changes],
        "problems": [*rendered.told_problems()],
    }


def shown(options: argparse.Namespace, rendered: Rendered, stale: list[DocumentState]) -> str:
    lines = [f"problem: {plain(problem)}" for problem in rendered.told_problems()]
    if options.check:
        lines += [f"stale: {each.path}" for each in stale]
        return "\n".join([*lines, check_line(rendered, stale)]) + "\n"
    width = max(len(each.path) for each in rendered.documents)
    words = {"new": "written", "changed": "written"} if options.write else {}
    lines += [f"{each.path:<{width}}  {words.get(each.word, each.word)}" for each in rendered.documents]
    if options.out:
        lines.append(f"All of them, as they would be, are in {options.out}.")
    elif stale and not options.write:
        lines.append("To bring them up to date: prd2pr docs --write")
    return "\n".join(lines) + "\n"


def check_line(rendered: Rendered, stale: list[DocumentState]) -> str:
    whole = count(len(rendered.documents), "document")
    if not stale and rendered.unchecked:
        return f"Not known to be current: {len(rendered.unchecked)} of {whole}, for the problems above."
    if not stale:
        return f"Current: {sum(each.word == 'current' for each in rendered.documents)} of {whole}."
    return f"Stale: {len(stale)} of {whole}. To bring them up to date: prd2pr docs --write"
