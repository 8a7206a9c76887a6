"""Blocking and asynchronous clients for the server's API. They need httpx, httpx-sse and pydantic.

May import only the view model from `views`, which is what the server returns, its records from `domain`, and the
module `retry.py`.

with Client("https://prd2pr.example.org", token="prd2pr_…") as client:
    for task in client.tasks(column="BLOCKED"):
        client.retry(task.key, why="the library was fixed")
"""

from prd2pr.client.clients import AsyncClient, Client
from prd2pr.client.errors import (
    ApiError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotSignedIn,
    NotUnderstood,
    Refused,
    ServerTrouble,
    TooMany,
    Unreachable,
)
from prd2pr.client.models import Asked, Event, Health, Problem
from prd2pr.domain.records import Spend
from prd2pr.views.models import CircuitView as Circuit
from prd2pr.views.models import ProjectView as Project
from prd2pr.views.models import RunView as Run
from prd2pr.views.models import StoryCard as Task
from prd2pr.views.models import StoryProof as TaskDetail
from prd2pr.views.models import WorkerView as Worker

__all__ = [
    "ApiError",
    "Asked",
    "AsyncClient",
    "Circuit",
    "Client",
    "Conflict",
    "Event",
    "Health",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "NotSignedIn",
    "NotUnderstood",
    "Problem",
    "Project",
    "Refused",
    "Run",
    "ServerTrouble",
    "Spend",
    "Task",
    "TaskDetail",
    "TooMany",
    "Unreachable",
    "Worker",
]
