"""Stop the clock of a subprocess two hours after the recorded branches were made.

Some queries look only at the last 90 days. With a stopped clock their answers stay the same.
"""

from __future__ import annotations

import datetime

STOPPED_AT = datetime.datetime(2026, 11, 18, 3, 0, tzinfo=datetime.UTC)


class StoppedDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return STOPPED_AT.astimezone(tz) if tz else STOPPED_AT.replace(tzinfo=None)


datetime.datetime = StoppedDatetime  # type: ignore[misc]
