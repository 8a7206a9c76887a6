"""What the shop reads from its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    port: int
    payment_token: str

    @classmethod
    def read(cls) -> Settings:
        return cls(int(os.environ.get("SHOP_PORT", "8000")), os.environ["SHOP_PAYMENT_TOKEN"])
