"""Experimental: suspension for graphs of the published engine, ``openarmature==0.17.*`` (Python 3.12 or newer).

The engine has no suspension of its own. A :class:`GraphRunner` runs a copy of a compiled graph, in which each node's
own function is a place to call :func:`handraise.suspend`. When that is called, the service stores the paused invocation
and opens the question, and a private ``BaseException`` leaves the graph: through the node, its middleware, the
subgraphs around it. Middleware runs up to its ``next()`` and not beyond. :meth:`GraphRunner.invoke` returns the
suspended outcome.

To resume, a copy of the graph begins at the node after the one that suspended, or at that node again, with the stored
state and the answer laid over it. The engine's own resume is not used; ``reentry`` says why.

Read ``graph_runner``, ``graph_copy``, ``steps``, ``reentry``; then ``dispatches`` for what runs side by side,
``node_events`` for what observers are told, ``span_observer`` for OpenTelemetry (``openarmature[otel]``).

What must never be: a node that runs because a gate before it failed, was refused, or had its exception swallowed; a
second gate that is passed with the answer to the first; anything read from the service but JSON.
"""

from importlib.metadata import PackageNotFoundError, version

ENGINE = "0.17."


def _version() -> str:
    try:
        return version("openarmature")
    except PackageNotFoundError:
        return "none"


if not _version().startswith(ENGINE):
    raise ImportError(
        f"handraise.openarmature needs the engine openarmature {ENGINE}*, and finds {_version()}: "
        "pip install 'handraise[openarmature]', with Python 3.12 or newer."
    )

from handraise.openarmature.graph_runner import GraphRunner  # noqa: E402 - only with that engine
from handraise.openarmature.node_events import SuspendedEvent  # noqa: E402

__all__ = ["GraphRunner", "SuspendedEvent"]
