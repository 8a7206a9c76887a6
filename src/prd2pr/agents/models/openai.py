"""`openai:MODEL`: any chat-completions endpoint (OpenAI's own, or a local server at OPENAI_BASE_URL)."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from prd2pr.agents.models.base import Reply, Request
from prd2pr.agents.models.credentials import read_base_url, read_key, redact_secrets
from prd2pr.agents.models.openai_messages import (
    IncompleteAnswer,
    read_openai_answer,
    read_openai_usage,
    to_openai_request,
)
from prd2pr.agents.models.retry import MODEL_RETRIES, RETRIED_STATUS, TransientFailure, call_with_retries
from prd2pr.agents.models.usage import Prices, estimate_call, find_price
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.records import Spend
from prd2pr.errors import ModelProblem, Prd2prError, SpendLimit
from prd2pr.retry import RetryPolicy, read_retry_after

DEFAULT_URL = "https://api.openai.com/v1"
KEY_REMEDY = "Set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server that needs no key."
SPENDING_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
REMEDIES = {
    400: "The endpoint rejects this request: it may not support tools or json_schema output. Try another model.",
    401: "Check OPENAI_API_KEY: it is wrong, revoked, or for another OPENAI_BASE_URL.",
    403: "The key has no access to this model: use another key, or another model in `models:` of .prd2pr.yml.",
    404: "Check the model's name in `models:` of .prd2pr.yml, and OPENAI_BASE_URL (it usually ends in /v1).",
}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the key to another host."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class OpenAiCompatibleModel:
    def __init__(
        self,
        model: str,
        *,
        env: Mapping[str, str],
        prices: Prices,
        policy: RetryPolicy = MODEL_RETRIES,
        timeout: float = 600.0,
    ) -> None:
        self.name = model
        self._model = model
        self._prices = prices
        self._policy = policy
        self._timeout = timeout
        self._url = _endpoint(read_base_url(env, "OPENAI_BASE_URL", DEFAULT_URL))
        own_server = bool(env.get("OPENAI_BASE_URL", "").strip()) and not env.get("OPENAI_API_KEY", "").strip()
        self._key = "" if own_server else read_key(env, "OPENAI_API_KEY", KEY_REMEDY)
        self._opener = urllib.request.build_opener(_NoRedirect)

    def reply(self, request: Request) -> Reply:
        # OpenAI's newer models reject `max_tokens`; most other servers know only that name.
        limit_name = "max_completion_tokens" if self._url.startswith(DEFAULT_URL) else "max_tokens"
        wire = to_openai_request(request, self._model, limit_name)
        return call_with_retries(lambda: self._ask(wire), self._policy, self._where)

    def estimate(self, request: Request | None) -> CallEstimate:
        return estimate_call(self._model, find_price(self._prices, *self._price_names), request)

    @property
    def _where(self) -> str:
        return f"{self._model} at {self._url}"

    @property
    def _price_names(self) -> tuple[str, str]:
        return self._model, f"openai:{self._model}"

    def _ask(self, wire: Mapping[str, Any]) -> Reply:
        try:
            with self._opener.open(self._request(wire), timeout=self._timeout) as response:
                data = response.read()
        except urllib.error.HTTPError as error:
            with error:
                raise self._explain(error) from None
        except TimeoutError:
            raise TransientFailure("no response within the time limit") from None
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError) as error:
            raise TransientFailure(self._clean(f"no connection, or the connection was lost ({error})")) from None
        try:
            return self._to_reply(json.loads(data))
        except (IncompleteAnswer, ValueError) as error:
            raise TransientFailure(self._clean(f"the response cannot be read ({error})")) from error

    def _request(self, wire: Mapping[str, Any]) -> urllib.request.Request:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        body = json.dumps(wire, ensure_ascii=False).encode()
        return urllib.request.Request(self._url, body, headers)  # noqa: S310 - read_base_url allows only http(s)

    def _to_reply(self, body: Any) -> Reply:
        blocks, stop = read_openai_answer(body)
        usage = read_openai_usage(body)
        model = str(body.get("model") or self._model)
        price = find_price(self._prices, *self._price_names, model)
        spend = usage.spend(price) if usage is not None else Spend(calls=1, usd=None)
        return Reply(blocks, spend, stop, model)

    def _explain(self, error: urllib.error.HTTPError) -> Exception:
        message, codes = _read_error(error)
        message = self._clean(message)[:500]
        if error.code == 402 or codes & SPENDING_CODES:
            remedy = "Raise the limit or add credit with the provider, then run again: all proved work is committed."
            return self._problem(SpendLimit, f"The provider's spending limit is reached: {message}", remedy)
        if error.code in RETRIED_STATUS:
            return TransientFailure(f"{error.code} {message}", read_retry_after(error.headers, time.time()))
        remedy = REMEDIES.get(error.code, "See the provider's message; the same request will not succeed.")
        return self._problem(ModelProblem, f"The model refused the request ({error.code}): {message}", remedy)

    def _problem(self, kind: type[Prd2prError], what: str, remedy: str) -> Prd2prError:
        return kind(what, where=self._where, remedy=remedy)

    def _clean(self, text: str) -> str:
        return redact_secrets(text, self._key)


def _endpoint(base_url: str) -> str:
    """Return the endpoint's URL; `http://localhost:8080` means `http://localhost:8080/v1`."""
    return f"{base_url}/chat/completions" if urlsplit(base_url).path else f"{base_url}/v1/chat/completions"


def _read_error(error: urllib.error.HTTPError) -> tuple[str, set[str]]:
    """Return the provider's message and its error codes."""
    try:
        raw = error.read(100_000)
        body = json.loads(raw)
    except (ValueError, OSError, http.client.HTTPException):
        return error.reason or "no explanation", set()
    match body:
        case {"error": {"message": str(message), **rest}}:
            return message, {str(rest.get("code")), str(rest.get("type"))}
    return raw.decode(errors="replace"), set()
