"""Amounts of money in cents. Floats never come near a price."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Money:
    cents: int

    @classmethod
    def of(cls, euros: int, cents: int = 0) -> Money:
        return cls(euros * 100 + cents)

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __sub__(self, other: Money) -> Money:
        return Money(self.cents - other.cents)

    def __mul__(self, times: int) -> Money:
        return Money(self.cents * times)

    def percent(self, rate: int) -> Money:
        """`rate` per cent of this amount, rounded half up to the cent."""
        return Money((self.cents * rate + 50) // 100)

    def __str__(self) -> str:
        sign = "-" if self.cents < 0 else ""
        return f"{sign}{abs(self.cents) // 100}.{abs(self.cents) % 100:02d} EUR"
