"""Direct calls: a request in which nothing is wrong comes to its route without FastAPI, whose layers and way of working
out arguments take more time than all else that is done for it before the engine is asked. Whatever is wrong with one is
left to FastAPI to say, so that every error is as it always was.

FastAPI still describes the route, and holds the validators of its parameters, which are used here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from re import Pattern
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, PathConvertor
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.front.limits import StrictJsonRequest

Direct = Callable[[Request], Awaitable[Response | None]]
"""The route's reply; ``None`` if something is wrong with the request."""
Handlers = Mapping[Any, Callable[[Request, Any], Any]]
"""An application's coroutines that reply to exceptions, by the class of these."""


@dataclass(frozen=True, slots=True)
class DirectRoute:
    """One path that can be called with one method. ``call`` is ``None`` if only FastAPI can."""

    route: APIRoute
    pattern: Pattern[str]
    convertors: Mapping[str, Convertor[Any]]
    call: Direct | None


class RouteTable:
    """Finds the route that FastAPI would: the first whose path and method are those of a request. It looks only at
    those with as many slashes in their path."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], list[DirectRoute]] = {}

    def add(self, prefix: str, routes: Iterable[tuple[APIRoute, Direct | None]]) -> None:
        """``routes`` in FastAPI's order, below a ``prefix`` of their own. A parameter that takes slashes leaves the
        later routes of its method to FastAPI."""
        left: set[str] = set()
        for route, call in routes:
            pattern, _, convertors = compile_path(prefix + route.path)
            for method in (route.methods or set()) - left:
                if any(isinstance(one, PathConvertor) for one in convertors.values()):
                    left.add(method)
                    continue
                place = method, (prefix + route.path).count("/")
                self._found.setdefault(place, []).append(DirectRoute(route, pattern, convertors, call))

    def find(self, method: str, path: str) -> tuple[DirectRoute, dict[str, Any]] | None:
        """The route, and the parameters in ``path``."""
        for one in self._found.get((method, path.count("/")), ()):
            if match := one.pattern.match(path):
                return one, {name: one.convertors[name].convert(text) for name, text in match.groupdict().items()}
        return None


class DirectCalls:
    """Pure ASGI, between our limits and FastAPI's own layers."""

    def __init__(self, app: ASGIApp, table: RouteTable, handlers: Handlers) -> None:
        self._app = app
        self._table = table
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and not scope.get("root_path"):
            found = self._table.find(scope["method"], scope["path"])
        if found is None or (call := found[0].call) is None:
            await self._app(scope, receive, send)
            return
        scope["route"], scope["path_params"] = found[0].route, found[1]
        request = StrictJsonRequest(scope, receive)
        try:
            reply = await call(request)
        except Exception as error:
            answer = self._handler(error)
            if answer is None:
                raise
            reply = await answer(request, error)
        if reply is None:
            await self._app(scope, _once_more(await request.body(), receive), send)
        else:
            await reply(scope, receive, send)

    def _handler(self, error: Exception) -> Callable[[Request, Any], Any] | None:
        """What replies to ``error``. What nobody expects (``Exception``) is for the layer outside of all."""
        kinds: Sequence[type] = type(error).__mro__
        return next((self._handlers[one] for one in kinds if one in self._handlers and one is not Exception), None)


def _once_more(body: bytes, receive: Receive) -> Receive:
    """``receive`` as it was before the ``body`` was read."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return read.pop() if read else await receive()

    return again


def direct(route: APIRoute) -> Direct | None:
    """How to call ``route`` directly; ``None`` if it takes more than headers, parts of the path, one body, and what
    depends on the request alone."""
    wanted, endpoint = route.dependant, route.endpoint
    if not _is_simple(wanted) or not all(map(_takes_the_request_alone, wanted.dependencies)):
        return None
    asked_first = [(str(one.name), one.call, str(one.request_param_name)) for one in wanted.dependencies]

    async def call(request: Request) -> Response | None:
        values: dict[str, Any] = {}
        for name, depends_on, parameter in asked_first:
            values[name] = await depends_on(**{parameter: request})  # type: ignore[misc]
        are_valid = _take(wanted.path_params, request.path_params, values)
        are_valid = are_valid and _take(wanted.header_params, request.headers, values)
        for field in wanted.body_params:
            values[field.name], wrong = field.validate(await request.json(), values, loc=())
            are_valid = are_valid and not wrong
        if not are_valid:
            return None
        if wanted.request_param_name is not None:
            values[wanted.request_param_name] = request
        reply: Response = await endpoint(**values)
        return reply

    return call


def _is_simple(wanted: Dependant) -> bool:
    fields = wanted.query_params or wanted.cookie_params
    injected = wanted.response_param_name or wanted.background_tasks_param_name or wanted.http_connection_param_name
    return not fields and not injected and len(wanted.body_params) <= 1


def _takes_the_request_alone(one: Dependant) -> bool:
    own = (one.path_params, one.header_params, one.body_params, one.dependencies)
    return _is_simple(one) and not any(own) and one.name is not None and one.request_param_name is not None


def _take(fields: Any, given: Mapping[str, Any], values: dict[str, Any]) -> bool:
    """Add what ``given`` has for ``fields`` to ``values``; whether all of it is valid."""
    for field in fields:
        value = given.get(field.alias)
        if value is None:
            if field.field_info.is_required():
                return False
            values[field.name] = field.default
            continue
        values[field.name], wrong = field.validate(value, values, loc=())
        if wrong:
            return False
    return True
