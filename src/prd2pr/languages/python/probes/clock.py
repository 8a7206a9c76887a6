"""Shifts the date of a running process.

Runs under the project's own Python, like the launcher, and uses only the standard library. Always runs in a fork that
exits afterwards.

Rebinding names is not enough, because code may have imported clock functions by name or stored them as defaults.
Instead, the built-in functions themselves are changed, by replacing the C function in their method table entry. The
monotonic clock is left alone, because changing the date does not affect it.
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


_REFERENCES: list[Any] = []  # keeps callbacks that the interpreter calls from being garbage-collected


class _MethodDefinition(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("calls", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_NoArgumentFunction = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
_ArgumentsFunction = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)
_ClassFunction = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
_FastFunction = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p), ctypes.c_ssize_t, ctypes.c_void_p
)


class ShiftedClock:
    """A wall clock shifted by `shift` seconds. A shift of 0 replaces the functions without changing their results."""

    def __init__(self, shift: int) -> None:
        self._shift = shift

    def install(self) -> str:
        """Replace the clock functions.

        Return an empty string, or the reason why this interpreter's clock cannot be shifted.
        """
        before, shift = time.time(), self._shift
        previous = time.time, datetime.datetime.now
        try:
            self._replace_all()
        except (AttributeError, LookupError, OSError, TypeError, ValueError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"
        utc = datetime.timezone.utc  # noqa: UP017 Python 3.9
        readings = [
            time.time(),
            time.time_ns() / 1e9,
            time.mktime(time.localtime()),
            previous[0](),
            previous[1](utc).timestamp(),
            datetime.datetime.now().timestamp(),
            datetime.datetime.now(tz=utc).timestamp(),
        ]
        if any(abs(each - before - shift) > TOLERANCE for each in readings):
            return "some of its clocks cannot be shifted"
        day = datetime.date.fromtimestamp(before + shift)
        return "" if abs((datetime.date.today() - day).days) <= 1 else "its date cannot be shifted"

    def _replace_all(self) -> None:
        self._shift_reading(time.time, self._shift)
        self._shift_reading(time.time_ns, self._shift * NANO)
        for function in (time.localtime, time.gmtime, time.ctime):
            self._fill_default_time(function, lambda given: given if given and given[0] is not None else (time.time(),))
        self._fill_default_time(time.strftime, lambda given: given if len(given) != 1 else (*given, time.localtime()))
        self._shift_clock_gettime(time.clock_gettime, self._shift)
        self._shift_clock_gettime(time.clock_gettime_ns, self._shift * NANO)
        self._shift_datetime()
        self._shift_file_times()

    # --- functions of `time` ---

    def _shift_reading(self, function: Any, shift: int) -> None:
        entry = _find_method_definition(function, NO_ARGUMENTS)
        real = _NoArgumentFunction(entry.calls)
        self._set_function(entry, _NoArgumentFunction(lambda module, _nothing: real(module, None) + shift))

    def _shift_clock_gettime(self, function: Any, shift: int) -> None:
        """Replace a function that takes the clock to read as a parameter."""
        try:
            entry = _find_method_definition(function, PLAIN_ARGUMENTS)
        except ValueError:
            return  # implemented differently in this version, and rarely used
        real = _ArgumentsFunction(entry.calls)

        def read(module: Any, given: Any) -> Any:
            return real(module, given) + (shift if given[0] == time.CLOCK_REALTIME else 0)

        self._set_function(entry, _ArgumentsFunction(read))

    def _fill_default_time(self, function: Any, fill: Callable[[Any], Any]) -> None:
        """Replace a function whose time argument defaults to the current time."""
        entry = _find_method_definition(function, PLAIN_ARGUMENTS)
        real = _ArgumentsFunction(entry.calls)
        self._set_function(entry, _ArgumentsFunction(lambda module, given: real(module, fill(given))))

    # --- datetime ---

    def _shift_datetime(self) -> None:
        entry = _find_method_definition(datetime.datetime.now, FAST | KEYWORDS | CLASS)

        def now(kind: Any, given: Any, count: int, names: Any) -> Any:
            named = len(ctypes.cast(names, ctypes.py_object).value) if names else 0
            values = [ctypes.cast(given[each], ctypes.py_object).value for each in range(count + named)]
            return kind.fromtimestamp(time.time(), *values[:1])

        self._set_function(entry, _FastFunction(now))
        utc = _find_method_definition(datetime.datetime.utcnow, NO_ARGUMENTS | CLASS)

        def utcnow(kind: Any, _nothing: Any) -> Any:
            return kind.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017 Python 3.9

        self._set_function(utc, _ClassFunction(utcnow))

    # --- the times of files ---

    def _shift_file_times(self) -> None:
        """Shift file times as well, so that a file written just now still looks new."""
        for name in ("stat", "lstat", "fstat"):
            setattr(os, name, self._shifted_stat(getattr(os, name)))
        os.utime = self._shifted_utime(os.utime)

    def _shifted_stat(self, real: Any) -> Any:
        shift = self._shift

        def stat(*given: Any, **named: Any) -> Any:
            status = real(*given, **named)
            more = {
                name: getattr(status, name) for name in ("st_blksize", "st_blocks", "st_rdev") if hasattr(status, name)
            }
            for name in ("st_atime", "st_mtime", "st_ctime"):
                more[name] = getattr(status, name) + shift
                more[f"{name}_ns"] = getattr(status, f"{name}_ns") + shift * NANO
            return os.stat_result((*status[:7], *(each + shift for each in status[7:10])), more)

        return stat

    def _shifted_utime(self, real: Any) -> Any:
        shift = self._shift

        def utime(path: Any, times: Any = None, *, ns: Any = None, **named: Any) -> None:
            if ns is not None:
                real(path, ns=tuple(each - shift * NANO for each in ns), **named)
            else:
                real(path, times and tuple(each - shift for each in times), **named)

        return utime

    def _set_function(self, entry: _MethodDefinition, function: Any) -> None:
        _REFERENCES.append(function)
        entry.calls = ctypes.cast(function, ctypes.c_void_p).value


def _find_method_definition(function: Any, flags: int) -> _MethodDefinition:
    """Return the method table entry of a built-in function, which follows the object header."""
    address = ctypes.c_void_p.from_address(id(function) + object.__basicsize__).value
    entry = _MethodDefinition.from_address(address or 0)
    if entry.name != function.__name__.encode() or entry.flags != flags:
        raise ValueError(f"`{function.__name__}` is not implemented as expected")
    return entry


def set_time_zone(zone: str) -> None:
    os.environ["TZ"] = zone
    time.tzset()
