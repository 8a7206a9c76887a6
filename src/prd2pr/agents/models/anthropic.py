"""`anthropic:MODEL`: Anthropic's Messages API through its SDK, streamed.

Importing the SDK takes more than a second, so this module is imported only when a model is opened.
"""

from __future__ import annotations

import difflib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, get_args

import anthropic
import httpx2
from anthropic.types import Message as SdkMessage
from anthropic.types import Model as SdkModelNames

from prd2pr.agents.models.anthropic_messages import to_anthropic_request
from prd2pr.agents.models.base import Block, Message, Reply, Request, Text, ToolUse
from prd2pr.agents.models.credentials import read_anthropic_key, read_base_url, redact_secrets
from prd2pr.agents.models.message_blocks import Json, Stop
from prd2pr.agents.models.retry import MODEL_RETRIES, RETRIED_STATUS, TransientFailure, call_with_retries
from prd2pr.agents.models.usage import Prices, Usage, estimate_call, find_price
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.errors import ModelProblem, Prd2prError, SpendLimit
from prd2pr.retry import RetryPolicy, read_retry_after

DEFAULT_URL = "https://api.anthropic.com"

STOPS: dict[str, Stop] = {
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}  # all other stop reasons are a natural end

# An error inside a stream has the stream's status 200, so only its type shows what happened.
STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# The API reports an account's own spending limits as bad requests, which only their text identifies.
SPENDING_WORDS = ("credit balance", "usage limits", "spend limit")

REMEDIES = {
    400: "Retrying does not help: the API rejects this request. If the prompt is too long, split the story or the PRD.",
    401: "Check ANTHROPIC_API_KEY: it is wrong, revoked, or for another ANTHROPIC_BASE_URL.",
    403: "The key has no access to this model or endpoint: use another key or model (`models:` in .prd2pr.yml).",
    404: "Check the model's name in `models:` of .prd2pr.yml, and ANTHROPIC_BASE_URL if it is set.",
    413: "The request is too large: split the story or the PRD.",
}


class ThinkingStore:
    """Stores a model's thinking blocks, keyed by the first tool call that followed them.

    The API requires them to be sent back unchanged with those tool calls, and our blocks cannot represent them. Losing
    them in a new process is harmless, because the conversation starts again.
    """

    KEPT = 64

    def __init__(self) -> None:
        self._by_call: OrderedDict[str, list[Json]] = OrderedDict()

    def keep(self, message: SdkMessage) -> None:
        thoughts = [block.to_dict() for block in message.content if block.type in {"thinking", "redacted_thinking"}]
        calls = [block.id for block in message.content if block.type == "tool_use"]
        if thoughts and calls:
            self._by_call[calls[0]] = thoughts
            while len(self._by_call) > self.KEPT:
                self._by_call.popitem(last=False)

    def lookup(self, message: Message) -> list[Json]:
        calls = [block.id for block in message.blocks if isinstance(block, ToolUse)]
        return list(self._by_call.get(calls[0], ())) if calls else []


class AnthropicModel:
    def __init__(
        self,
        model: str,
        *,
        env: Mapping[str, str],
        prices: Prices,
        policy: RetryPolicy = MODEL_RETRIES,
        read_timeout: float = 300.0,
    ) -> None:
        self.name = model
        self._model = model
        self._prices = prices
        self._policy = policy
        self._key = read_anthropic_key(env)
        self._url = read_base_url(env, "ANTHROPIC_BASE_URL", DEFAULT_URL)
        self._thinking = ThinkingStore()
        self._client = anthropic.Anthropic(
            api_key=self._key,
            base_url=self._url,
            max_retries=0,  # we retry ourselves, so that retries are counted and reported and cover interrupted streams
            timeout=anthropic.Timeout(read_timeout, connect=15.0),
        )

    def reply(self, request: Request) -> Reply:
        parameters = to_anthropic_request(request, self._model, self._thinking.lookup)
        if request.output_schema is not None and not request.schema_in_prompt:
            schema = anthropic.transform_schema(dict(request.output_schema))
            parameters["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        message = call_with_retries(lambda: self._ask(parameters), self._policy, f"{self._model} at {self._url}")
        self._thinking.keep(message)
        return self._to_reply(message)

    def estimate(self, request: Request | None) -> CallEstimate:
        return estimate_call(self._model, find_price(self._prices, *self._price_names), request)

    @property
    def _price_names(self) -> tuple[str, str]:
        return self._model, f"anthropic:{self._model}"

    def _ask(self, parameters: Mapping[str, Any]) -> SdkMessage:
        """Send the request once. An incomplete response raises an error."""
        try:
            with self._client.messages.stream(**parameters) as stream:
                if not any(event.type == "message_stop" for event in stream):
                    raise TransientFailure("the response was cut off")
                return stream.get_final_message()
        except anthropic.APIStatusError as error:
            raise self._explain(error) from None  # the SDK's error contains the request and therefore the key
        except anthropic.APITimeoutError:
            raise TransientFailure("no response within the time limit") from None
        except anthropic.APIConnectionError as error:
            raise TransientFailure(self._clean(f"no connection ({error.__cause__ or error})")) from None
        except httpx2.TimeoutException:
            raise TransientFailure("the response stalled") from None
        except httpx2.HTTPError as error:
            raise TransientFailure(self._clean(f"the response was cut off ({error})")) from None
        except ValueError as error:  # the SDK raises this for invalid JSON
            raise TransientFailure(self._clean(f"the response cannot be read ({str(error)[:200]})")) from None

    def _explain(self, error: anthropic.APIStatusError) -> Exception:
        status = error.status_code if error.status_code >= 400 else STATUS_OF_TYPE.get(str(error.type), 500)
        message = self._clean(str(error.api_message or error.message))[:500]
        if _is_spending_limit(error, status, message):
            return self._problem(SpendLimit, f"The provider's spending limit is reached: {message}", _SPENDING_REMEDY)
        if status in RETRIED_STATUS:
            return TransientFailure(f"{status} {message}", read_retry_after(error.response.headers, time.time()))
        remedy = REMEDIES.get(status, "See the provider's message; the same request will not succeed.")
        return self._problem(
            ModelProblem, f"The model refused the request ({status}): {message}", remedy + self._hint(status)
        )

    def _problem(self, kind: type[Prd2prError], what: str, remedy: str) -> Prd2prError:
        return kind(what, where=f"{self._model} at {self._url}", remedy=remedy)

    def _hint(self, status: int) -> str:
        known = [name for name in get_args(get_args(SdkModelNames)[0]) if isinstance(name, str)]
        close = difflib.get_close_matches(self._model, known, n=1)
        return f" Did you mean {close[0]}?" if status == 404 and close and close[0] != self._model else ""

    def _clean(self, text: str) -> str:
        return redact_secrets(text, self._key)

    def _to_reply(self, message: SdkMessage) -> Reply:
        counted = message.usage
        usage = Usage(
            input=counted.input_tokens,
            cache_read=counted.cache_read_input_tokens or 0,
            cache_write=counted.cache_creation_input_tokens or 0,
            output=counted.output_tokens,
        )
        return Reply(
            blocks=_blocks(message),
            spend=usage.spend(find_price(self._prices, *self._price_names, message.model)),
            stop=STOPS.get(message.stop_reason or "", "end"),
            model=message.model,
        )


_SPENDING_REMEDY = (
    "Raise the limit or add credit in the provider's console, then run again: everything proved so far is committed."
)


def _is_spending_limit(error: anthropic.APIStatusError, status: int, message: str) -> bool:
    if status == 402 or error.error_code == "enforced_spend_limit_reached":
        return True
    return status in {400, 403} and any(words in message.lower() for words in SPENDING_WORDS)


def _blocks(message: SdkMessage) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for block in message.content:
        if block.type == "text":
            blocks.append(Text(block.text))
        elif block.type == "tool_use":
            arguments: object = block.input  # a model's reply may not match the type that the SDK declares
            blocks.append(ToolUse(block.id, block.name, arguments if isinstance(arguments, dict) else {}))
    return tuple(blocks)
