"""What a frozen object has worked out of itself, taken along to a copy that differs in nothing that it follows from."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Kind = TypeVar("Kind", bound="DataclassInstance")


def carried(was: Kind, made: Kind) -> Kind:
    """`made`, with the cached properties of `was`. Whoever calls it knows that they hold for both."""
    own = {field.name for field in fields(was)}
    vars(made).update({name: value for name, value in vars(was).items() if name not in own})
    return made
