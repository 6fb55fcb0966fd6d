"""A model on this machine that asks for one command and then stops: what a coding agent does with it is seen without
a vendor. For ``handraise hook doctor`` and for tests.

It speaks as much of the three vendors' streaming APIs as their programs need: Anthropic's messages, OpenAI's responses,
Google's generateContent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

_DONE = "It is done."
_JSON, _STREAM = "application/json", "text/event-stream"
_COUNTED = {"input_tokens": 10, "totalTokens": 10, "data": [], "models": []}
"""What is said to everything else: how long a text is, which models there are."""
_LONGEST = 32 * 1024 * 1024


@dataclass
class ScriptedModel:
    """Asks for ``turns`` one after the other: each is the shell commands that it asks for at once. ``told`` are the
    results that it was given, as text."""

    turns: Sequence[Sequence[str]]
    url: str = ""
    told: list[str] = field(default_factory=list)
    seen: list[tuple[str, Any]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def reply(self, path: str, body: Any) -> tuple[str, bytes]:
        """Content type and body."""
        with self._lock:
            self.seen.append((path, body))
        place = urlsplit(path).path
        if place == "/v1/messages":
            return self._anthropic(body)
        if place == "/v1/responses":
            return self._openai(body)
        if place.endswith(":streamGenerateContent"):
            return _STREAM, _events([("", self._google(body))])
        said = self._google(body) if place.endswith(":generateContent") else _COUNTED
        return _JSON, json.dumps(said).encode()

    def _next(self, results: Sequence[str], is_offered: bool) -> Sequence[str]:
        """The commands to ask for, after these results of earlier ones; none if there is nothing more to do."""
        with self._lock:
            self.told += [one for one in results if one not in self.told]
        given = 0
        for turn in self.turns:
            if len(results) == given:
                return turn if is_offered else ()
            given += len(turn)
        return ()

    def _anthropic(self, body: Any) -> tuple[str, bytes]:
        parts = [part for one in body["messages"] if isinstance(one["content"], list) for part in one["content"]]
        results = [_text(part.get("content")) for part in parts if part["type"] == "tool_result"]
        commands = self._next(results, any(tool.get("name") == "Bash" for tool in body.get("tools", [])))
        blocks = [
            {"type": "tool_use", "id": f"toolu_{len(results) + n}", "name": "Bash", "input": {"command": command}}
            for n, command in enumerate(commands)
        ] or [{"type": "text", "text": _DONE}]
        usage = {"input_tokens": 10, "output_tokens": 10}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "usage": usage}
        end = {"stop_reason": "tool_use" if commands else "end_turn", "stop_sequence": None}
        if not body.get("stream"):
            return _JSON, json.dumps({**message, "content": blocks, **end}).encode()
        events: list[tuple[str, Any]] = [
            ("message_start", {"message": {**message, "content": [], "stop_reason": None}})
        ]
        for index, block in enumerate(blocks):
            events += _anthropic_block(index, block)
        events += [("message_delta", {"delta": end, "usage": {"output_tokens": 10}}), ("message_stop", {})]
        return _STREAM, _events([(name, {"type": name, **said}) for name, said in events])

    def _openai(self, body: Any) -> tuple[str, bytes]:
        inputs = body["input"] if isinstance(body["input"], list) else []
        results = [_text(one.get("output")) for one in inputs if one.get("type", "").endswith("_call_output")]
        tools = {tool.get("name"): tool for tool in body.get("tools", [])}
        name = next((one for one in ("shell_command", "exec_command", "shell") if one in tools), None)
        commands = self._next(results, name is not None)
        items: list[Any] = [
            {
                "type": "function_call",
                "id": f"fc_{len(results) + n}",
                "call_id": f"call_{len(results) + n}",
                "name": name,
                "arguments": json.dumps({"cmd" if name == "exec_command" else "command": command}),
            }
            for n, command in enumerate(commands)
        ] or [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "content": [{"type": "output_text", "text": _DONE}],
            }
        ]
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        response = {"id": "resp_1", "object": "response", "output": items, "usage": usage}
        events: list[tuple[str, Any]] = [("response.created", {"response": {"id": "resp_1"}})]
        events += [("response.output_item.done", {"output_index": n, "item": item}) for n, item in enumerate(items)]
        events.append(("response.completed", {"response": response}))
        return _STREAM, _events([(name, {"type": name, **said}) for name, said in events])

    def _google(self, body: Any) -> Any:
        parts = [part for one in body["contents"] for part in one.get("parts", [])]
        results = [_text(one["functionResponse"].get("response")) for one in parts if "functionResponse" in one]
        offered = [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        commands = self._next(results, "run_shell_command" in offered)
        said: list[Any] = [
            {"functionCall": {"name": "run_shell_command", "args": {"command": command}}} for command in commands
        ] or [{"text": _DONE}]
        return {
            "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": said}}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
        }


@contextmanager
def serving(model: ScriptedModel) -> Iterator[ScriptedModel]:
    """``model`` at ``model.url``, on loopback, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length", 0)), _LONGEST)
            self._say(*model.reply(self.path, json.loads(self.rfile.read(length) or b"{}")))

        def do_GET(self) -> None:
            self._say(*model.reply(self.path, {}))

        def _say(self, kind: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _anthropic_block(index: int, block: dict[str, Any]) -> list[tuple[str, Any]]:
    if block["type"] == "tool_use":
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    return [
        ("content_block_start", {"index": index, "content_block": start}),
        ("content_block_delta", {"index": index, "delta": delta}),
        ("content_block_stop", {"index": index}),
    ]


def _events(events: Sequence[tuple[str, Any]]) -> bytes:
    lines = (f"event: {name}\n" * bool(name) + f"data: {json.dumps(said)}\n\n" for name, said in events)
    return "".join(lines).encode()


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
