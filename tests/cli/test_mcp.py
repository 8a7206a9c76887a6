"""`prd2pr mcp`, used with the client of the official library."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="needs the extra `mcp`")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    (tmp_path / "tool.py").write_text("def double(n):\n    return n + n\n")
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    subprocess.run([*git, "add", "-A"], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "base"], cwd=tmp_path, check=True)
    return tmp_path


async def talk(project: Path) -> tuple[set[str], dict[str, Any], str, dict[str, Any]]:
    parameters = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "prd2pr", "mcp", "--repo", str(project)], env=None
    )
    async with mcp.stdio_client(parameters) as (read, write), mcp.ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()
        checked = await session.call_tool("check", {})
        explained = await session.call_tool("explain", {"code": "CHK101"})
        failed = await session.call_tool("gate", {"phase": "red", "base": "nothing"})
        texts = [each.content[0].text for each in (checked, explained, failed)]
        return {tool.name for tool in tools.tools}, json.loads(texts[0]), texts[1], json.loads(texts[2])


def test_an_agent_is_judged(project: Path) -> None:
    (project / "tool.py").write_text("def double(n):\n    return 2 * n if n else 1\n")
    names, checked, explained, failed = asyncio.run(talk(project))
    assert names == {"check", "gate", "explain"}
    assert checked["verdict"] == "refused"
    assert [each["code"] for each in checked["findings"] if each["severity"] == "error"] == ["CHK101"]
    assert explained.startswith("CHK101  source changed, and no test needs the change")
    assert failed["verdict"] == "not judged"
    assert "'nothing' is not a commit" in failed["error"]
