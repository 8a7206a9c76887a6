"""Another date, for a process that is running already.

Executed by the project's own Python, like the launcher: standard library alone. Always inside a fork that ends with it.

What code has imported by name, or keeps as a default, is no name that could be bound to something else. So it is the
built-in functions themselves that are made to answer otherwise: each has an entry in a table of the interpreter that
says which C function it calls. The clock that only goes forward is left alone, as no change of the date moves it.
"""

from __future__ import annotations

import ctypes
import datetime
import os
import time
from collections.abc import Callable
from typing import Any

NO_ARGUMENTS, PLAIN_ARGUMENTS, FAST, KEYWORDS = 0x0004, 0x0001, 0x0080, 0x0002
CLASS = 0x0010
TOLERANCE = 60.0
NANO = 1_000_000_000


_KEPT: list[Any] = []  # what the interpreter calls now must not be thrown away


class _Entry(ctypes.Structure):
    """PyMethodDef"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("calls", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_Reading = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
_Telling = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)
_Making = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
_Fast = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p), ctypes.c_ssize_t, ctypes.c_void_p
)


class Clock:
    """`shift` is what the wall clock is ahead by, in seconds; 0 changes the functions and not what they say."""

    def __init__(self, shift: int) -> None:
        self._shift = shift

    def install(self) -> str:
        """Empty, or why this interpreter's clock cannot be moved."""
        before, shift = time.time(), self._shift
        early = time.time, datetime.datetime.now
        try:
            self._replace_all()
        except (AttributeError, LookupError, OSError, TypeError, ValueError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"
        utc = datetime.timezone.utc  # noqa: UP017 Python 3.9
        told = [
            time.time(),
            time.time_ns() / 1e9,
            time.mktime(time.localtime()),
            early[0](),
            early[1](utc).timestamp(),
            datetime.datetime.now().timestamp(),
            datetime.datetime.now(tz=utc).timestamp(),
        ]
        if any(abs(each - before - shift) > TOLERANCE for each in told):
            return "some of its clocks do not move"
        day = datetime.date.fromtimestamp(before + shift)
        return "" if abs((datetime.date.today() - day).days) <= 1 else "its calendar does not move"

    def _replace_all(self) -> None:
        self._put_reading(time.time, self._shift)
        self._put_reading(time.time_ns, self._shift * NANO)
        for function in (time.localtime, time.gmtime, time.ctime):
            self._put_telling(function, lambda given: given if given and given[0] is not None else (time.time(),))
        self._put_telling(time.strftime, lambda given: given if len(given) != 1 else (*given, time.localtime()))
        self._put_asked(time.clock_gettime, self._shift)
        self._put_asked(time.clock_gettime_ns, self._shift * NANO)
        self._put_now()
        self._move_files()

    # --- functions of `time` ---

    def _put_reading(self, function: Any, shift: int) -> None:
        entry = _entry(function, NO_ARGUMENTS)
        real = _Reading(entry.calls)
        self._set(entry, _Reading(lambda module, _nothing: real(module, None) + shift))

    def _put_asked(self, function: Any, shift: int) -> None:
        """Those that are told which clock to read."""
        try:
            entry = _entry(function, PLAIN_ARGUMENTS)
        except ValueError:
            return  # made otherwise in this version, and hardly ever used
        real = _Telling(entry.calls)

        def read(module: Any, given: Any) -> Any:
            return real(module, given) + (shift if given[0] == time.CLOCK_REALTIME else 0)

        self._set(entry, _Telling(read))

    def _put_telling(self, function: Any, filled: Callable[[Any], Any]) -> None:
        """Those that take a moment, and without one the present."""
        entry = _entry(function, PLAIN_ARGUMENTS)
        real = _Telling(entry.calls)
        self._set(entry, _Telling(lambda module, given: real(module, filled(given))))

    # --- datetime ---

    def _put_now(self) -> None:
        entry = _entry(datetime.datetime.now, FAST | KEYWORDS | CLASS)

        def now(kind: Any, given: Any, count: int, names: Any) -> Any:
            named = len(ctypes.cast(names, ctypes.py_object).value) if names else 0
            values = [ctypes.cast(given[each], ctypes.py_object).value for each in range(count + named)]
            return kind.fromtimestamp(time.time(), *values[:1])

        self._set(entry, _Fast(now))
        utc = _entry(datetime.datetime.utcnow, NO_ARGUMENTS | CLASS)

        def utcnow(kind: Any, _nothing: Any) -> Any:
            return kind.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017 Python 3.9

        self._set(utc, _Making(utcnow))

    # --- the times of files ---

    def _move_files(self) -> None:
        """A file that was written just now is as new as it was."""
        for name in ("stat", "lstat", "fstat"):
            setattr(os, name, self._moved(getattr(os, name)))
        os.utime = self._set_back(os.utime)

    def _moved(self, real: Any) -> Any:
        shift = self._shift

        def stat(*given: Any, **named: Any) -> Any:
            seen = real(*given, **named)
            more = {name: getattr(seen, name) for name in ("st_blksize", "st_blocks", "st_rdev") if hasattr(seen, name)}
            for name in ("st_atime", "st_mtime", "st_ctime"):
                more[name] = getattr(seen, name) + shift
                more[f"{name}_ns"] = getattr(seen, f"{name}_ns") + shift * NANO
            return os.stat_result((*seen[:7], *(each + shift for each in seen[7:10])), more)

        return stat

    def _set_back(self, real: Any) -> Any:
        shift = self._shift

        def utime(path: Any, times: Any = None, *, ns: Any = None, **named: Any) -> None:
            if ns is not None:
                real(path, ns=tuple(each - shift * NANO for each in ns), **named)
            else:
                real(path, times and tuple(each - shift for each in times), **named)

        return utime

    def _set(self, entry: _Entry, function: Any) -> None:
        _KEPT.append(function)
        entry.calls = ctypes.cast(function, ctypes.c_void_p).value


def _entry(function: Any, flags: int) -> _Entry:
    """Which C function a built-in one calls. It stands right behind the head that all objects have."""
    place = ctypes.c_void_p.from_address(id(function) + object.__basicsize__).value
    entry = _Entry.from_address(place or 0)
    if entry.name != function.__name__.encode() or entry.flags != flags:
        raise ValueError(f"`{function.__name__}` is not made as it is known to be")
    return entry


def move_zone(zone: str) -> None:
    os.environ["TZ"] = zone
    time.tzset()
