"""Facts read from a Python file's syntax tree."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from prd2pr.languages.python.complexity import measure, measure_functions
from prd2pr.livingdocs.readers.python_file import read_python_file
from prd2pr.livingdocs.readers.source_file import SourceFile, source_file_from_json, source_file_to_json


def read(text: str) -> SourceFile:
    return read_python_file(dedent(text))


def test_public_names_with_their_owners_and_the_first_sentence() -> None:
    file = read('''
        """What is sold. And more.

        Much more."""
        import os
        from x import y

        LIMIT = 3
        _hidden = 4

        class Cart:
            size = 1

            def add(self, item): ...
            def _count(self): ...

        def check_out(cart): ...
        def _private(): ...
        ''')
    assert file.about == "What is sold."
    assert [(each.owner, each.name, each.kind) for each in file.symbols] == [
        ("", "LIMIT", "value"),
        ("", "Cart", "class"),
        ("Cart", "add", "function"),
        ("", "check_out", "function"),
    ]
    assert file.imports == ("os", "x:y")


NESTED = """
    def outer(a):
        if a and a > 1 or a < -1:
            return [b for b in a if b]

        class Inner:
            def method(self):
                while True:
                    try:
                        pass
                    except ValueError:
                        break
        async def deep():
            match a:
                case 1: pass
                case _: pass

    if True:
        def conditional(): return 1 if NESTED else 2
    """


def test_complexity_matches_measure() -> None:
    text = dedent(NESTED)
    _, functions = measure_functions(ast.parse(text))
    counted = measure(text)
    assert {each.name for each in functions} == {"outer", "outer.Inner.method", "outer.deep", "conditional"}
    assert max(each.complexity for each in functions) == counted["complexity_max"]
    assert len(functions) == counted["functions"]
    assert max(each.length for each in functions) == counted["longest_function"]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("eval(x)", "eval()"),
        ("exec(x)", "exec()"),
        ("import pickle as p\np.loads(x)", "pickle.loads()"),
        ("from pickle import loads\nloads(x)", "pickle.loads()"),
        ("import os\nos.system(x)", "os.system()"),
        ("import subprocess\nsubprocess.run(x, shell=True)", "subprocess.run(shell=True)"),
        ("from subprocess import Popen\nPopen(x, shell=True)", "subprocess.Popen(shell=True)"),
        ("import yaml\nyaml.load(x)", "yaml.load()"),
        ("import yaml\nyaml.load(x, Loader=yaml.FullLoader)", "yaml.load()"),
        ("import hashlib\nhashlib.md5(x)", "hashlib.md5()"),
        ("import requests\nrequests.get(x, verify=False)", "requests.get(verify=False)"),
        ("app.run(debug=True)", "app.run(debug=True)"),
        ("cursor.execute(f'select {x}')", "cursor.execute(…)"),
        ("cursor.execute('select ' + x)", "cursor.execute(…)"),
        ("connect(x).execute(f'select {x}')", "execute(…)"),
        ("SECRET_KEY = 'sk-live-1234567890'", "SECRET_KEY = …"),
        ("API_KEY = 'sk-live-1234567890'", "API_KEY = …"),
        ("class A:\n    password: str = 'hunter2hunter2'", "password = …"),
    ],
)
def test_risky_calls(code: str, call: str) -> None:
    assert [risk.call for risk in read_python_file(code).risks] == [call]


@pytest.mark.parametrize(
    "code",
    [
        "import ast\nast.literal_eval(x)",
        "model.eval()",
        "import subprocess\nsubprocess.run([x])",
        "import subprocess\nsubprocess.run(x, shell=False)",
        "import yaml\nyaml.load(x, Loader=yaml.SafeLoader)\nyaml.safe_load(x)",
        "import hashlib\nhashlib.md5(x, usedforsecurity=False)\nhashlib.sha256(x)",
        "cursor.execute('select 1 where a = ?', (x,))",
        "TOKEN = os.environ['TOKEN']",
        "API_KEY = 'API_KEY'\nPASSWORD = ''\nSECRET = '<your secret>'\nTOKEN = 'GITHUB_TOKEN'",
        "token_count = 'many words'",
    ],
)
def test_harmless_calls(code: str) -> None:
    assert read_python_file(code).risks == ()


def test_environment_variables() -> None:
    file = read("""
        import os
        from os import environ as e, getenv

        A = os.environ["A"]
        B = os.environ.get("B", "two")
        C = getenv("C")
        D = e["D"]
        os.environ["SET"] = "written, not read"
        os.environ[name]
        """)
    assert [(each.name, each.required, each.default) for each in file.env] == [
        ("A", True, ""),
        ("B", False, "two"),
        ("C", False, ""),
        ("D", True, ""),
    ]


def test_routes_of_the_usual_frameworks() -> None:
    file = read("""
        router = APIRouter(prefix="/users")
        bp = Blueprint("b", __name__, url_prefix="/admin")

        @app.route("/", methods=["GET", "post"])
        def home(): ...
        @app.get("/health")
        async def health(): ...
        @router.get("")
        def users(): ...
        @router.delete("/{id}")
        def gone(id): ...
        @bp.route("/x")
        def x(): ...
        @mock.patch("thing.get")
        def no_route(): ...
        @cache.get("key")
        def no_route_either(): ...

        app.add_url_rule("/old", "old", old_view)
        app.router.add_post("/posted", posted)
        routes = [Route("/star", endpoint=star), web.get("/aio", aio)]
        urlpatterns = [path("shop/", views.shop), path("cart/", Cart.as_view()), path("in/", include("inner.urls"))]
        requests.get("/not/a/route")
        """)
    assert {(each.method, each.path, each.handler) for each in file.routes} == {
        ("GET", "/", "home"),
        ("POST", "/", "home"),
        ("GET", "/health", "health"),
        ("GET", "/users", "users"),
        ("DELETE", "/users/{id}", "gone"),
        ("GET", "/admin/x", "x"),
        ("any", "/old", "old_view"),
        ("POST", "/posted", "posted"),
        ("any", "/star", "star"),
        ("GET", "/aio", "aio"),
        ("any", "/shop/", "views.shop"),
        ("any", "/cart/", "Cart"),
        ("any", "/in/", "include inner.urls"),
    }


def test_command_line_commands() -> None:
    file = read('''
        verbs.add_parser("plan", help="make a plan")

        @cli.command()
        def run_all():
            """Run everything.

            Really."""

        @cli.command("go")
        def other(): ...

        @click.group
        def top(): ...

        if __name__ == "__main__":
            top()
        ''')
    assert {(each.name, each.about) for each in file.commands} == {
        ("plan", "make a plan"),
        ("run-all", "Run everything."),
        ("go", ""),
        ("top", ""),
    }
    assert file.is_program


def test_explicitly_raised_errors() -> None:
    file = read('''
        class Gone(KeyError):
            """It is not there."""
        class NotAnError(Base): ...
        class _Hidden(Exception): ...
        ''')
    assert [(each.name, each.about) for each in file.errors] == [("Gone", "It is not there.")]


@pytest.mark.parametrize("text", ["def (", "\0", "(" * 5000, "x = " + "-" * 20000 + "1", "\ud800"])
def test_invalid_python_is_reported(text: str) -> None:
    assert not read_python_file(text).parsed


def test_facts_round_trip_through_their_cache_line() -> None:
    file = read(NESTED + "\n    import os\n    os.getenv('Ä', 'ö')\n    eval(os)\n")
    line = source_file_to_json(file)
    assert source_file_from_json(line) == file and "\n" not in line and "\t" not in line
    assert (
        source_file_from_json(line[:-5]) is None
        and source_file_from_json("[]") is None
        and source_file_from_json('{"of": "another time"}') is None
    )
