"""A client for the server's API, blocking and asynchronous. It needs httpx and pydantic.

May import no other package.

with Client("https://prd2pr.example.org", token="prd2pr_…") as client:
    for task in client.tasks(column="BLOCKED"):
        client.retry(task.key, why="the library was fixed")
"""

from prd2pr.client.asynchronous import AsyncClient
from prd2pr.client.blocking import Client
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
from prd2pr.client.models import (
    Asked,
    Circuit,
    Event,
    Health,
    Problem,
    Project,
    Run,
    Spend,
    Task,
    TaskDetail,
    Worker,
)

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
