"""Thirteen vendors on one loopback port: their paths and shapes, their own key or a 401.

Provider `x` lives below `/x`. A model or voice called `missing` is an error of the vendor's.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

HEADERS = {
    "anthropic": ("x-api-key", ""), "google": ("x-goog-api-key", ""),
    "gemini": ("x-goog-api-key", ""), "elevenlabs": ("xi-api-key", ""),
    "deepgram": ("Authorization", "Token "),
}  # fmt: skip
DONE = "All done."
PARTS = ("All ", "done.")
OPENAI_LIKE = ("openai", "groq", "together", "fireworks", "mistral", "huggingface")


@dataclass
class Vendors:
    """What was asked of each, and the key all of them take."""

    key: str
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    def base(self, provider: str) -> str:
        """One vendor's base URL."""
        return f"{self.url}/{provider}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request to any vendor."""
        provider, _, path = request.path[1:].partition("/")
        name, scheme = HEADERS.get(provider, ("Authorization", "Bearer "))
        self.asked.append((provider, path))
        if request.headers.getall(name, []) != [scheme + self.key] or self.key in request.url.path:
            self.rejected.append(f"{provider} {path} {dict(request.headers)}")
            return web.json_response({"error": {"message": "bad key"}}, status=401)
        if request.headers.get("Upgrade"):
            return await _live(request, provider)
        raw = await request.read()
        body = json.loads(raw) if raw[:1] == b"{" else {}
        if "missing" in (body.get("model"), request.query.get("model")) or "missing" in path:
            said = {"message": "no such model", "type": "not_found_error", "code": 404}
            return web.json_response({"type": "error", "error": said}, status=404)
        if provider in OPENAI_LIKE:
            return await _openai_like(request, path, body)
        answer: web.StreamResponse = await globals()[f"_{provider}"](request, path, body)
        return answer


@asynccontextmanager
async def vendors(key: str) -> AsyncIterator[Vendors]:
    """Serve until the context ends."""
    peer = Vendors(key)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", peer.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        peer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield peer
    finally:
        await runner.cleanup()


async def _sse(
    request: web.Request, events: Iterable[tuple[str, Any]], *, done: bool = False
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for name, data in events:
        line = f"event: {name}\n" if name else ""
        await response.write(f"{line}data: {json.dumps(data)}\n\n".encode())
        await asyncio.sleep(0)
    if done:
        await response.write(b"data: [DONE]\n\n")
    return response


async def _openai_like(request: web.Request, path: str, body: dict[str, Any]) -> web.StreamResponse:
    if path.endswith("/responses"):
        text = {"type": "output_text", "text": DONE, "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
        usage = {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16}
        return web.json_response(
            {"id": "r", "object": "response", "created_at": 1, "model": "gpt-5", "status":
             "completed", "output": [{**item, "content": [text]}], "usage": usage,
             "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        )  # fmt: skip
    if "hf-inference" in path:
        return web.json_response([[{"label": DONE, "score": 0.5}]])
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    head = {"id": "c", "created": 1, "model": "fake", "usage": usage}
    if not body.get("stream"):
        message = {"role": "assistant", "content": DONE}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({**head, "object": "chat.completion", "choices": [choice]})
    chunks = [
        {**head, "object": "chat.completion.chunk", "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": part}, "finish_reason": None}]}
        for part in PARTS
    ]  # fmt: skip
    return await _sse(request, (("", chunk) for chunk in chunks), done=True)


async def _anthropic(request: web.Request, _path: str, body: dict[str, Any]) -> web.StreamResponse:
    usage = {"input_tokens": 11, "output_tokens": 5}
    message: dict[str, Any] = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        content = [{"type": "text", "text": DONE}]
        return web.json_response({**message, "content": content, "stop_reason": "end_turn"})
    block = {"type": "content_block_start", "index": 0}
    pieces = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
        for part in PARTS
    ]
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {**block, "content_block": {"type": "text", "text": ""}},
        *pieces,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
    return await _sse(request, ((event["type"], event) for event in events))


async def _gemini(request: web.Request, path: str, _body: dict[str, Any]) -> web.StreamResponse:
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16}

    def answer(text: str) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": text}]}
        return {"candidates": [{"content": content}], "usageMetadata": usage}

    if "streamGenerate" in path:
        return await _sse(request, (("", answer(part)) for part in PARTS))
    return web.json_response(answer(DONE))


_google = _gemini


async def _spoken(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "audio/mpeg"})
    await response.prepare(request)
    for part in PARTS:
        await response.write(part.encode())
    return response


async def _elevenlabs(
    request: web.Request, _path: str, _body: dict[str, Any]
) -> web.StreamResponse:
    return await _spoken(request)


async def _deepgram(request: web.Request, path: str, _body: dict[str, Any]) -> web.StreamResponse:
    if path == "v1/speak":
        return await _spoken(request)
    return web.json_response(_heard())


def _heard() -> dict[str, Any]:
    alternative = {"transcript": DONE, "confidence": 1.0, "words": []}
    metadata = {
        "request_id": "r", "transaction_key": "t", "sha256": "s", "created":
        "2026-01-01T00:00:00Z", "duration": 1.0, "channels": 1, "models": [], "model_info": {},
        "model_uuid": "m",
    }  # fmt: skip
    return {"metadata": metadata, "results": {"channels": [{"alternatives": [alternative]}]}}


async def _cohere(request: web.Request, _path: str, body: dict[str, Any]) -> web.StreamResponse:
    usage = {"tokens": {"input_tokens": 11, "output_tokens": 5}}
    content = [{"type": "text", "text": DONE}]
    message = {"role": "assistant", "content": content}
    if not body.get("stream"):
        return web.json_response(
            {"id": "c", "finish_reason": "COMPLETE", "message": message, "usage": usage}
        )
    events: list[dict[str, Any]] = [
        {"type": "message-start", "id": "c", "delta": {"message": {"role": "assistant"}}},
        *(
            {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": one}}}}
            for one in PARTS
        ),
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": usage}},
    ]
    return await _sse(request, (("", event) for event in events), done=True)


async def _replicate(request: web.Request, path: str, _body: dict[str, Any]) -> web.StreamResponse:
    base = str(request.url.origin())
    if request.method == "GET" and path.startswith("v1/models"):
        return web.json_response({"owner": "o", "name": "fake", "url": base, "visibility":
                                  "public"})  # fmt: skip
    state = "starting" if request.method == "POST" else "succeeded"
    prediction = {
        "id": "p1", "model": "o/fake", "version": "v1", "status": state, "input": {}, "error":
        None, "logs": "", "output": [*PARTS] if state == "succeeded" else None, "created_at":
        "2026-01-01T00:00:00Z", "urls": {"get": f"{base}/v1/predictions/p1", "cancel": base},
        "data_removed": False,
    }  # fmt: skip
    return web.json_response(prediction, status=201 if request.method == "POST" else 200)


async def _live(request: web.Request, provider: str) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=("realtime",))
    await socket.prepare(request)
    if provider == "openai":
        await socket.send_json({"type": "session.created", "event_id": "e", "session": {
            "type": "realtime", "model": "fake"}})  # fmt: skip
    async for message in socket:
        if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            break
        if provider == "deepgram":
            heard = _heard()
            await socket.send_json({
                "type": "Results", "channel_index": [0], "duration": 1.0, "start": 0.0,
                "is_final": True, "channel": heard["results"]["channels"][0],
                "metadata": {**heard["metadata"], "model_info": {
                    "name": "n", "version": "v", "arch": "a"}},
            })  # fmt: skip
        if provider == "elevenlabs" and message.json().get("text") == "":
            await socket.send_json({"audio": "QWxsIGRvbmUu", "isFinal": None})
            await socket.send_json({"isFinal": True})
            break
    await socket.close()
    return socket
