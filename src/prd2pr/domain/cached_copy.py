"""Copy `cached_property` values to a replaced dataclass."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Kind = TypeVar("Kind", bound="DataclassInstance")


def copy_cached_properties(source: Kind, target: Kind) -> Kind:
    """Return `target` with the cached properties of `source`. The caller knows that they are valid for both."""
    own = {field.name for field in fields(source)}
    vars(target).update({name: value for name, value in vars(source).items() if name not in own})
    return target
