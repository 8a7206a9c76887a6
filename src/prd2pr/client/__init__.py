"""A client for the server's API, blocking and asynchronous. It needs httpx, httpx-sse and pydantic.

May import `views` and `domain`: only the view model, with which the server answers, and the records it is made of.

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
