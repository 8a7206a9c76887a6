"""`prd2pr docs`: render the living docs of the checkout, and optionally write or check them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from prd2pr.cli.context import open_repository, read_config
from prd2pr.domain.documents import AT_ROOT
from prd2pr.domain.wording import clean_line, count
from prd2pr.errors import UsageProblem
from prd2pr.livingdocs.render import DocumentState, RenderedDocs, render_tree
from prd2pr.state.git import Git


def main(options: argparse.Namespace) -> int:
    if sum(map(bool, (options.write, options.check, options.out, options.site))) > 1:
        raise UsageProblem(
            "--write, --check, --out and --site exclude each other", where="docs", remedy="use only one of them"
        )
    if options.site:
        return write_dashboard_site(options)
    with open_repository(options.repo) as git:
        config = read_config(git, git.rev("HEAD"))
        if not config.docs.enabled and not options.out:
            return report_disabled(options)
        if options.write and git.workdir is None:
            raise UsageProblem(
                "a bare repository has no checkout to write into",
                where=str(git.common_dir),
                remedy="name a directory: --out DIR",
            )
        # Uncommitted files are included, because the docs describe the checkout as it is.
        tree, rules, elsewhere = git.checkout_tree(), config.path_rules, bool(options.out)
        rendered = render_tree(git, tree, config.docs.directory, rules, config.docs.selected, elsewhere=elsewhere)
        rendered = rendered if elsewhere else exclude_ignored(git, rendered)
        if options.write and git.workdir:
            write_documents(git.workdir, rendered)
    if options.out:
        export_documents(Path(options.out), rendered)
    return report_documents(options, rendered)


def write_dashboard_site(options: argparse.Namespace) -> int:
    """Write the dashboard as static files.

    Imports only server modules that do not need the server's dependencies.
    """
    from prd2pr.cli.doctor.github_checks import find_origin_repository
    from prd2pr.server.disk_reader import DiskReader
    from prd2pr.server.static_site import write_site

    with open_repository(options.repo) as git:
        directory = git.workdir or git.common_dir
        name = find_origin_repository(git, os.environ) or directory.resolve().name
    with DiskReader({name: directory}, still=True) as reading:
        pages = write_site(reading, Path(options.site))
        problems = [problem for project in reading.projects() for problem in project.problems]
    if options.json:
        facts = {"site": options.site, "repository": name, "pages": pages, "problems": problems}
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    else:
        problem_lines = "".join(f"problem: {clean_line(problem)}\n" for problem in problems)
        index = Path(options.site) / "index.html"
        sys.stdout.write(f"{problem_lines}{count(pages, 'page')} of {name} written; open {index}\n")
    return 0


def exclude_ignored(git: Git, rendered: RenderedDocs) -> RenderedDocs:
    """Leave out existing files that git ignores: they are not part of the tree and must not be overwritten."""
    if git.workdir is None:
        return rendered
    root = git.workdir
    return rendered.skip_documents(
        {
            each.path: "it exists already and git ignores it"
            for each in rendered.documents
            if each.changes and each.existing is None and os.path.lexists(root / each.path)
        }
    )


def write_documents(root: Path, rendered: RenderedDocs) -> None:
    for path, content in rendered.files.items():
        target = root / path
        if content is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def export_documents(directory: Path, rendered: RenderedDocs) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for each in rendered.documents:
        content = each.existing if each.content is None else each.content
        if content is not None and each.is_kept and each.document not in AT_ROOT:
            (directory / each.document.file).write_bytes(content)


def report_disabled(options: argparse.Namespace) -> int:
    if options.json:
        sys.stdout.write(json.dumps({"enabled": False, "documents": [], "stale": [], "problems": []}, indent=2) + "\n")
    else:
        sys.stdout.write("Living docs are disabled (docs.enabled in .prd2pr.yml).\n")
    return 0


def report_documents(options: argparse.Namespace, rendered: RenderedDocs) -> int:
    stale = [each for each in rendered.documents if each.changes]
    if options.json:
        sys.stdout.write(json.dumps(format_documents_json(rendered, written=options.write), indent=2) + "\n")
    else:
        sys.stdout.write(format_documents_text(options, rendered, stale))
    # The content of an unchecked document is unknown, so it does not count as current.
    return 1 if options.check and (stale or rendered.unchecked) else 0


def format_documents_json(rendered: RenderedDocs, *, written: bool) -> dict[str, object]:
    return {
        "enabled": True,
        "written": written,
        "documents": [
            {"name": each.document.name, "path": each.path, "state": each.word, "problem": each.problem}
            for each in rendered.documents
        ],
        "stale": [] if written else [each.path for each in rendered.documents if each.changes],
        "problems": [*rendered.list_problems()],
    }


def format_documents_text(options: argparse.Namespace, rendered: RenderedDocs, stale: list[DocumentState]) -> str:
    lines = [f"problem: {clean_line(problem)}" for problem in rendered.list_problems()]
    if options.check:
        lines += [f"stale: {each.path}" for each in stale]
        return "\n".join([*lines, check_line(rendered, stale)]) + "\n"
    width = max(len(each.path) for each in rendered.documents)
    words = {"new": "written", "changed": "written"} if options.write else {}
    lines += [f"{each.path:<{width}}  {words.get(each.word, each.word)}" for each in rendered.documents]
    if options.out:
        lines.append(f"The updated documents are in {options.out}.")
    elif stale and not options.write:
        lines.append("To update them: prd2pr docs --write")
    return "\n".join(lines) + "\n"


def check_line(rendered: RenderedDocs, stale: list[DocumentState]) -> str:
    total = count(len(rendered.written), "document")
    if not stale and rendered.unchecked:
        return f"Not checked: {len(rendered.unchecked)} of {total}, because of the problems above."
    if not stale:
        return f"Current: {sum(each.word == 'current' for each in rendered.documents)} of {total}."
    return f"Stale: {len(stale)} of {total}. To update them: prd2pr docs --write"
