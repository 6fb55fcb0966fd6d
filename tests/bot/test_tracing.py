"""Whether there are spans at all: the extra, the environment and ``telemetry.otlp_endpoint``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from bot.observability.tracing import NO_TRACING, tracing_of
from core.ports import Callback, Delivered
from tests.ports import free_port
from tests.process import service_process

ROOT = Path(__file__).parents[2]
COLLECTOR = "http://127.0.0.1:9"

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_SERVICE_NAME": "handraise"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": COLLECTOR, "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": COLLECTOR, "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_traced_unless_somebody_says_where_to(environ: dict[str, str]) -> None:
    assert tracing_of(None, environ) is NO_TRACING


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
def test_the_standard_variables_switch_it_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, COLLECTOR)
    tracing = tracing_of(None, {name: COLLECTOR})
    tracing.close()
    assert tracing is not NO_TRACING


@pytest.mark.slow
def test_a_service_without_tracing_does_not_import_the_extra() -> None:
    extra = ("opentelemetry.sdk", "opentelemetry.exporter")
    code = f"import sys, bot.server; print([name for name in sys.modules if name.startswith({extra})])"
    assert python(code).stdout == "[]\n"


@pytest.mark.slow
def test_the_service_runs_where_the_extra_is_not_installed() -> None:
    code = f"{BLOCKED}\nimport bot.server\nfrom bot.observability.tracing import NO_TRACING, tracing_of"
    there = f"{{'OTEL_EXPORTER_OTLP_ENDPOINT': '{COLLECTOR}'}}"
    done = python(f"{code}\nprint(tracing_of(None, {there}) is NO_TRACING)")
    assert done.stdout.splitlines()[-1] == "True"
    assert "tracing.not_installed" in done.stdout


@pytest.mark.slow
def test_our_own_setting_needs_the_extra_and_says_so() -> None:
    done = python(f"{BLOCKED}\nfrom bot.observability.tracing import tracing_of\ntracing_of('{COLLECTOR}', {{}})")
    assert "pip install 'handraise-server[otel]'" in done.stderr


GLOBAL = """
import asyncio, sys
from pathlib import Path
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.world import running

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

async def main(folder):
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        await world.call("GET", "/a/a-token-that-answers", None)

asyncio.run(main(Path(sys.argv[1])))
print([span.name for span in exporter.get_finished_spans()])
"""


@pytest.mark.slow
def test_the_web_framework_makes_no_spans_of_its_own_whose_paths_hold_tokens(tmp_path: Path) -> None:
    command = [sys.executable, "-c", GLOBAL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


@contextmanager
def collecting() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector on loopback: its URL, and what it was sent."""
    sent: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize(("telemetry", "is_told"), [({}, False), ({"signal_metadata": True}, True)])
async def test_what_is_attached_to_a_signal_leaves_only_if_the_configuration_says_so(
    telemetry: dict[str, bool], is_told: bool, tmp_path: Path
) -> None:
    with collecting() as (url, sent):
        settings = {
            "database_url": f"sqlite+aiosqlite:///{tmp_path}/handraise.db",
            "secret_key": "the-secret-key-of-the-tests-alone",
            "api_keys": [{"name": "refund-agent", "key": "agent-key-1", "roles": ["agent"]}],
            "email": {"smtp_url": f"smtp://127.0.0.1:{free_port()}", "from": "handraise@handraise.example"},
            "recipients": {"allow": ["*@example.com"]},
            "telemetry": {"otlp_endpoint": url, **telemetry},
        }
        asked = {
            "question": "Refund?",
            "response_type": "confirm",
            "notify_to": "alice@example.com",
            "channel_hint": "email",
            "resume": {"signal_id": "refund-9", "signal_metadata": {"kind": "approval"}},
        }
        async with service_process(tmp_path / "service", settings) as service:
            await service.start()
            async with httpx.AsyncClient(trust_env=False, headers={"X-API-Key": "agent-key-1"}) as agent:
                response = await agent.post(f"{service.url}/v1/suspensions", json=asked)
                assert response.status_code == 201, response.text
            assert await service.terminate() == 0
    spans = b"".join(body for _, body in sent)
    assert b"openarmature.suspension.signal_id" in spans
    assert (b"openarmature.suspension.metadata.kind" in spans) is is_told


@pytest.mark.slow
@pytest.mark.parametrize(("given", "name"), [({}, b"handraise"), ({"OTEL_SERVICE_NAME": "approvals"}, b"approvals")])
def test_spans_reach_the_collector_when_the_service_stops(
    given: dict[str, str], name: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in given.items():
        monkeypatch.setenv(key, value)
    with collecting() as (url, sent):
        tracing = tracing_of(url, {})
        callback = Callback("msg_1", "https://agent.example/", "refund-agent", {}, 1)
        with tracing.resuming(callback) as span:
            span.ended(Delivered({}))
        tracing.close()
    [(path, body)] = sent
    assert path == "/v1/traces"
    assert b"suspension.resume" in body
    assert name in body
