"""Direct calls: a request in which nothing is wrong comes to its route without FastAPI's way of working out arguments,
which takes an eighth of the time of a whole question. Whatever is wrong with one is left to FastAPI to say, so that
every error is as it always was.

FastAPI still finds the route, describes it, and holds the validators of its parameters, which are used here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

Direct = Callable[[Request], Awaitable[Response | None]]
"""The route's reply; ``None`` if something is wrong with the request."""


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
