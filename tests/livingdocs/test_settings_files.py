"""Facts read from files that describe how the repository is built, run and deployed."""

from __future__ import annotations

from itertools import pairwise
from textwrap import dedent

import pytest

from prd2pr.livingdocs.readers.other_file import read_source_file
from prd2pr.livingdocs.readers.plain_yaml import load_yaml_documents
from prd2pr.livingdocs.readers.settings import ProjectSettings, is_settings_file, read_project_settings
from prd2pr.livingdocs.readers.source_file import SourceFile


def read(files: dict[str, str]) -> ProjectSettings:
    texts = {path: dedent(text) for path, text in files.items()}
    assert all(is_settings_file(path) for path in texts)
    return read_project_settings(texts, tuple(sorted(texts)))


def test_a_dockerfile() -> None:
    (image,) = read(
        {
            "Dockerfile": """
            # syntax=docker/dockerfile:1
            FROM --platform=linux/amd64 python:3.12-slim AS build
            RUN pip install \\
                # a comment in between
                .
            FROM gcr.io/distroless/python3
            COPY --from=build /app /app
            ENV PORT=8000 MODE=prod
            EXPOSE 8000 9000/udp
            USER 1000
            HEALTHCHECK --interval=5s CMD curl -f http://localhost:8000/health
            ENTRYPOINT ["python", "-m", "shop"]
            CMD ["--port", "8000"]
            """
        }
    ).images
    assert image.bases == ("python:3.12-slim", "gcr.io/distroless/python3")
    assert (image.ports, image.user) == (("8000", "9000/udp"), "1000")
    assert image.starts == "python -m shop --port 8000"
    assert image.health == "curl -f http://localhost:8000/health"
    assert image.variables == ("PORT", "MODE")


def test_a_compose_file_with_anchors() -> None:
    web, db = read(
        {
            "compose.yaml": """
            x-base: &base
              restart: always
            services:
              web:
                <<: *base
                build: .
                ports: ["8000:8000"]
                depends_on: {db: {condition: service_healthy}}
                environment: [MODE=prod]
              db:
                image: postgres:16
                healthcheck: {test: [CMD, pg_isready]}
            """
        }
    ).services
    assert (web.image, web.ports, web.needs, web.variables) == ("built from .", ("8000:8000",), ("db",), ("MODE",))
    assert (db.image, db.health) == ("postgres:16", "CMD pg_isready")


def test_a_workflow() -> None:
    (pipeline,) = read(
        {
            ".github/workflows/ci.yml": """
            name: CI
            on:
              push: {branches: [main]}
              pull_request:
              schedule: [{cron: "0 3 * * *"}]
            jobs:
              test:
                runs-on: ubuntu-latest
                steps:
                  - uses: actions/checkout@v4
                  - uses: actions/cache@0123456789012345678901234567890123456789
                  - run: |
                      set -e
                      make test
                      make lint
              release:
                needs: test
                environment: {name: pypi}
                runs-on: [self-hosted, linux]
                steps: [{run: twine upload}]
            """
        }
    ).pipelines
    assert (pipeline.name, pipeline.triggers) == ("CI", ("push on main", "pull_request", "schedule 0 3 * * *"))
    test, release = pipeline.jobs
    assert (test.commands, test.unpinned) == (("make test (and 1 more lines)",), ("actions/checkout@v4",))
    assert (release.needs, release.runs_on, release.environment) == (("test",), "self-hosted, linux", "pypi")
    assert release.delivers and not test.delivers


def test_other_pipelines_and_hooks() -> None:
    settings = read(
        {
            ".gitlab-ci.yml": """
            stages: [test]
            .hidden: {script: [no]}
            check: {stage: test, script: [make check], needs: [{job: build}]}
            odd: !reference [.hidden, script]
            """,
            "Jenkinsfile": "pipeline { }",
            ".pre-commit-config.yaml": "repos: [{repo: x, hooks: [{id: ruff}, {id: mypy}]}]",
        }
    )
    gitlab, jenkins = settings.pipelines
    assert [(job.id, job.needs) for job in gitlab.jobs] == [("check", ("build",))]
    assert (jenkins.kind, jenkins.jobs) == ("Jenkins", ())
    assert settings.hooks == ("ruff", "mypy")


def test_manifests() -> None:
    settings = read(
        {
            "pyproject.toml": """
            [project]
            name = "shop"
            dynamic = ["version"]
            requires-python = ">=3.11"
            dependencies = ["httpx>=0.27", "rich==13.0"]
            optional-dependencies = {dev = ["pytest"]}
            scripts = {shop = "shop.cli:main"}
            [build-system]
            build-backend = "hatchling.build"
            [tool.ruff]
            """,
            "web/package.json": """
            {"name": "web", "version": "1.0.0", "private": true, "bin": "cli.js", "engines": {"node": ">=20"},
             "dependencies": {"express": "^4", "left-pad": "1.3.0"}, "scripts": {"test": "vitest"}}
            """,
            "requirements-dev.txt": "# tools\n-r other.txt\npytest\n",
            "go.mod": "module example.com/shop\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/y v1.2.3\n)\n",
            "broken/package.json": "{",
            "odd/pyproject.toml": 'project = "text"\ntool = 3\n',
        }
    )
    found = {each.path: each for each in settings.manifests}
    python, web = found["pyproject.toml"], found["web/package.json"]
    assert (python.name, python.version, python.runtime) == ("shop", "set while building", "Python >=3.11")
    assert (python.dependencies, python.unpinned, python.dev_dependencies) == (("httpx", "rich"), 1, ("pytest",))
    assert [(each.name, each.does) for each in python.programs] == [("shop", "shop.cli:main")]
    assert (web.runtime, web.unpinned, web.private) == ("node >=20", 1, True)
    assert [(each.name, each.does) for each in web.programs] == [("web", "cli.js")]
    assert found["requirements-dev.txt"].dev_dependencies == ("pytest",)
    assert (found["go.mod"].name, found["go.mod"].dependencies) == ("example.com/shop", ("github.com/x/y",))
    assert "cannot be read" in found["broken/package.json"].kind
    assert found["odd/pyproject.toml"].name == ""


def test_clusters_clouds_units_and_proxies() -> None:
    settings = read(
        {
            "k8s/all.yaml": """
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec: {replicas: 3, template: {spec: {containers: [{image: "shop:1"}]}}}
            ---
            apiVersion: networking.k8s.io/v1
            kind: Ingress
            metadata: {name: front}
            spec: {rules: [{host: shop.example, http: {paths: [{path: /, backend: {service: {name: web}}}]}}]}
            """,
            "values.yaml": "replicas: 3\n",
            "infra/main.tf": 'provider "aws" {\n}\nresource "aws_s3_bucket" "logs" {\n}\n',
            "shop.service": "[Unit]\nDescription=The shop\n[Service]\nExecStart=/usr/bin/shop\n",
            "Procfile": "web: gunicorn shop:app\nworker: python -m shop.worker\n",
            "deploy/nginx.conf": "server {\n  location /api {\n    proxy_pass http://web;\n  }\n}\n",
            "Makefile": ".PHONY: test\n# All of them.\ntest: build\n\tpytest\nbuild/x.o: x.c\n\tcc\n",
        }
    )
    told = {(each.kind, each.name, each.detail) for each in settings.resources}
    assert ("Deployment", "web", "shop:1, 3 replicas") in told
    assert ("resource", "logs", "aws_s3_bucket") in told and ("provider", "aws", "") in told
    assert ("nginx", "/api", "http://web") in told
    assert [each.routes for each in settings.resources if each.kind == "Ingress"] == [("shop.example/ to web",)]
    assert [(each.name, each.command) for each in settings.processes] == [
        ("web", "gunicorn shop:app"),
        ("worker", "python -m shop.worker"),
        ("shop", "/usr/bin/shop"),
    ]
    assert [(each.name, each.about) for each in settings.targets] == [("test", "All of them.")]


LEVELS = "abcdefghi"
LAUGHS = "a: &a [x]\n" + "".join(
    f"{new}: &{new}\n  <<: [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise(LEVELS)
)


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "- " * 60_000, "? " * 60_000, "{a: " * 30_000, "x" * 300_000, "a: b: c", "\x00", "'", LAUGHS],
    ids=["brackets", "dashes", "questions", "braces", "long", "wrong", "null", "open", "laughs"],
)
def test_hostile_yaml_yields_little_or_nothing(text: str) -> None:
    assert len(load_yaml_documents(text)) <= 1


# --- other languages --------------------------------------------------------------------------------------------------


def of(path: str, text: str) -> SourceFile:
    file = read_source_file(path, dedent(text))
    assert file is not None
    return file


def test_typescript() -> None:
    file = of(
        "src/app.ts",
        """
        import { a } from './a'
        import b from "../lib/b";
        import express from 'express'
        export default class Shop {}
        export const limit = 3
        export async function sell() {}
        export interface Cart {}
        function hidden() {}
        app.get('/health', (_, res) => res.send(process.env.MODE))
        """,
    )
    assert [(each.name, each.kind) for each in file.symbols] == [
        ("Shop", "class"), ("limit", "value"), ("sell", "function"), ("Cart", "type")
    ]  # fmt: skip
    assert file.imports == ("../lib/b", "./a")
    assert [(each.method, each.path) for each in file.routes] == [("GET", "/health")]
    assert [each.name for each in file.env] == ["MODE"]


def test_go_and_rust() -> None:
    go = of("shop/shop.go", 'package shop\nimport "example.com/shop/money"\nfunc Sell() {}\nfunc hidden() {}\n')
    assert ([each.name for each in go.symbols], go.imports) == (["Sell"], ("example.com/shop/money",))
    rust = of("src/lib.rs", "pub fn sell() {}\nfn hidden() {}\npub(crate) struct Cart;\n#[test]\nfn t() {}\n")
    assert ([each.name for each in rust.symbols], rust.tests) == (["sell", "Cart"], 1)


def test_unsupported_files_yield_nothing() -> None:
    assert read_source_file("README.md", "# x") is None
    assert read_source_file("a.unknown", "x") is None
    assert of("query.sql", "select 1\n").lines == 1
