"""Convert a provider's token counts to a `Spend`, with tokens always and dollars only if a price is configured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from prd2pr.agents.models.base import Block, Model, Request, Text, ToolResult, ToolUse
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.costs.context_budget import (
    CHARACTERS_PER_TOKEN,  # only for estimates, never for actual spending
)
from prd2pr.domain.costs.estimate import PER_MILLION, Price
from prd2pr.domain.records import Spend

USUAL_OUTPUT_TOKENS = 2_000  # tokens of a typical answer; estimating with `max_tokens` would stop every small budget

Prices = Mapping[str, Price]


@dataclass(frozen=True)
class Usage:
    """Token counts without overlap: tokens in `input` were neither read from the cache nor written to it."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def spend(self, price: Price | None) -> Spend:
        """Convert to a `Spend`: tokens written to the cache count as input, tokens read from it as `cached`."""
        return Spend(
            calls=1,
            input_tokens=self.input + self.cache_write,
            cached_tokens=self.cache_read,
            output_tokens=self.output,
            usd=None if price is None else round(self.dollars(price), 6),
        )

    def dollars(self, price: Price) -> float:
        """Return the cost. Without a cache price, cached tokens cost as much as other input."""
        read = price.input if price.cache_read is None else price.cache_read
        write = price.input if price.cache_write is None else price.cache_write
        cost = self.input * price.input + self.cache_read * read + self.cache_write * write + self.output * price.output
        return cost / PER_MILLION


def find_price(prices: Prices, *names: str) -> Price | None:
    """Return the price of the first name that has one, even if it is zero."""
    return next((prices[name] for name in names if name in prices), None)


@runtime_checkable
class CostEstimator(Protocol):
    """A model that can estimate the cost of a call, as all adapters of this package can."""

    def estimate(self, request: Request | None) -> CallEstimate: ...


def estimate_next_call(model: Model, request: Request | None = None) -> CallEstimate:
    """Estimate the next call for `domain.costs.budget.check_budget`.

    A model without estimates has no price, so that a dollar limit stops it.
    """
    return model.estimate(request) if isinstance(model, CostEstimator) else CallEstimate(model.name, usd=None)


def estimate_call(model: str, price: Price | None, request: Request | None) -> CallEstimate:
    """Estimate the cost of one call; without a request, only whether it has a price."""
    if request is None:
        return CallEstimate(model, usd=None if price is None else 0.0)
    usage = Usage(
        input=count_prompt_characters(request) // CHARACTERS_PER_TOKEN,
        output=min(request.max_tokens, USUAL_OUTPUT_TOKENS),
    )
    usd = None if price is None else usage.dollars(price)
    return CallEstimate(model, tokens=usage.input + usage.output, usd=usd)


def count_prompt_characters(request: Request) -> int:
    return sum(size for _, size in list_prompt_pieces(request))


def list_prompt_pieces(request: Request) -> list[tuple[str, int]]:
    """List the parts of a prompt and their lengths in characters, in the order in which providers cache them."""
    form = None if request.schema_in_prompt else request.output_schema
    tools = (len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.schema))) for tool in request.tools)
    return [
        *([("form of the answer", len(json.dumps(dict(form))))] if form is not None else []),
        *([("tools", size)] if (size := sum(tools)) else []),
        *((block.part or "system", len(block.text)) for block in request.system),
        *(_measure_block(block, message.role) for message in request.messages for block in message.blocks),
    ]


def _measure_block(block: Block, role: str) -> tuple[str, int]:
    match block:
        case Text(text=text, part=part):
            return part or ("own answers" if role == "assistant" else "asked again"), len(text)
        case ToolResult(content=content):
            return "tool results", len(content)
        case ToolUse(name=name, input=arguments):
            return "own answers", len(name) + len(json.dumps(dict(arguments)))
