"""A scripted model server on loopback: OpenAI Responses and Chat, Anthropic Messages, Gemini.

A prompt that holds `[[tool NAME {json}]]` makes the first answer a call of that tool; once
its result is in the conversation, or without a script, the answer is a short text. Each prompt
of a conversation may hold its own. `scripts` gives plain sentences one.

    [[tool NAME {json}]]   a call of that tool, until its result is there
    [[hold NAME]]          nothing, until the test releases NAME
    [[fail]]               an error of the provider
    [[say TEXT]]           this text in place of the usual one

`[[write FILE TEXT]]` is for agents without tools: the answer holds the whole file. A wrong
key gets the vendor's 401. Run it: `python -m atoll.testing.model_server PORT KEY`.
"""

import asyncio
import json
import re
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

SCRIPT = re.compile(r"\[\[tool ([\w.]+) (\{.*?\})\]\]", re.DOTALL)
_SERVERS = re.compile(r"(mcp__[a-z]+)__(\w+)")
_QUOTED = re.compile(r'\[\[tool [\w.]+ \{\\"')
_HOLD = re.compile(r"\[\[hold (\S+)\]\]")
_SAY = re.compile(r"\[\[say (.*?)\]\]", re.DOTALL)
_FAIL = "[[fail]]"
REFUSAL = "The provider refused: this account has no credit left."


WRITE = re.compile(r"\[\[write (\S+) (.*?)\]\]", re.DOTALL)
GOES_ON = re.compile(r"Process running with session ID (\d+)")
"""Said by Codex once a command has run for ten seconds, however fast the machine is."""
LONGEST_MILLISECONDS = 30_000
ROUTED = '{"complexity_reasoning": "It is short.", "complexity_score": 10}'
"""Gemini CLI asks how difficult a task is, to choose its model."""
DONE = "All done: the task is finished."


@dataclass(frozen=True)
class Cue:
    """The next act of a conversation; `tool` is None once its result is there."""

    tool: tuple[str, str] | None = None
    hold: str = ""
    fails: bool = False
    says: str = ""


RESULT = None
"""Stands in `cue_of` for the result of a tool."""


def cue_of(parts: Iterable[str | None]) -> Cue:
    """Return the cue of a conversation: texts of the person's side, and `RESULT`s, in order."""
    cue = Cue()
    for part in parts:
        if part is RESULT:
            cue = Cue(says=cue.says)
        elif "[[" in part:
            cue = _read_cue(part) or cue
    return cue


def _read_cue(text: str) -> Cue | None:
    if _QUOTED.search(text):
        # opencode quotes the words of its command line, and escapes the quotes in them.
        text = text.replace('\\"', '"')
    tools, holds, says = SCRIPT.findall(text), _HOLD.findall(text), _SAY.findall(text)
    if not (tools or holds or says or _FAIL in text):
        return None
    return Cue(
        tools[-1] if tools else None,
        holds[-1] if holds else "",
        _FAIL in text,
        says[-1] if says else "",
    )


def with_scripts(body: str, scripts: dict[str, str]) -> str:
    """Return the body of a request, with each sentence followed by its script."""
    for sentence, script in scripts.items():
        plain, cued = (json.dumps(text)[1:-1] for text in (sentence, f"{sentence} {script}"))
        body = body.replace(plain, cued)
    return body


@dataclass
class ModelServer:
    """The requests it got, and the key it accepts; `gates` hold the answers to `[[hold NAME]]`."""

    key: str
    url: str = ""
    scripts: dict[str, str] = field(default_factory=dict)
    gates: defaultdict[str, asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )
    requests: list[tuple[str, str]] = field(default_factory=list)
    rejected: int = 0
    bodies: deque[str] = field(default_factory=lambda: deque(maxlen=32))
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def forget(self) -> None:
        """Begin again, as if nothing was asked yet."""
        self.requests.clear()
        self.bodies.clear()
        self.rejected = 0

    def app(self) -> web.Application:
        """Routes of the three APIs."""
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self._check_key])
        app.router.add_post("/v1/responses", self._responses)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post(r"/v1beta/models/{model:[^:]+}:{verb}", self._gemini)
        return app

    @web.middleware
    async def _check_key(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append((request.method, request.path))
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        sent = (bearer, *(request.headers.get(name) for name in ("x-api-key", "x-goog-api-key")))
        if self.key not in sent or "key" in request.query:
            self.rejected += 1
            error = {"type": "authentication_error", "message": "invalid x-api-key"}
            return web.json_response({"type": "error", "error": error}, status=401)
        self.bodies.append(await request.text())
        self.asked.set()
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _read(self, request: web.Request) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(with_scripts(await request.text(), self.scripts))
        return body

    async def _wait(self, cue: Cue) -> None:
        """Wait until the answer is released. Raises `HTTPBadRequest` for one that fails."""
        if cue.hold:
            await self.gates[cue.hold].wait()
        if cue.fails:
            error = {"type": "invalid_request_error", "message": REFUSAL, "code": 400}
            problem = json.dumps({"type": "error", "error": {**error, "status": "FAILED"}})
            raise web.HTTPBadRequest(text=problem, content_type="application/json")

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake-model"}]})

    async def _count(self, _request: web.Request) -> web.Response:
        return web.json_response({"input_tokens": 10})

    async def _responses(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request)
        items = body["input"] if isinstance(body["input"], list) else []
        asked = max((n for n, i in enumerate(items) if i.get("role") == "user"), default=0)
        results = [i for i in items[asked:] if str(i.get("type", "")).endswith("call_output")]
        cue = cue_of(_of_responses(items[asked:] or [{"role": "user", "content": body["input"]}]))
        await self._wait(cue)
        reply = cue.says or DONE
        tool = _waited_for(results[-1]) if results else cue.tool
        number = sum(str(i.get("type", "")).endswith("call_output") for i in items) + 1
        name = f"fc_{number}" if tool else f"msg_{len(items)}"
        item = _output_item(name, tool, reply)
        response = {"id": "resp_1", "object": "response", "model": "fake-model", "output": []}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        finished = {**response, "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return web.json_response(finished)
        place = {"item_id": name, "output_index": 0, "content_index": 0}
        delta = {"type": "response.output_text.delta", **place, "delta": reply}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            *(() if tool else (delta,)),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": finished},
        ]
        return await _sse(request, [(e["type"], e) for e in events])

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request)
        cue = cue_of(_of_chat(body["messages"])) if body.get("tools") else Cue()
        await self._wait(cue)
        tool = cue.tool
        if tool:
            function = {"name": tool[0], "arguments": tool[1]}
            delta: dict[str, Any] = {
                "role": "assistant",
                "tool_calls": [
                    {
                        "index": 0,
                        "id": f"c{len(body['messages'])}",
                        "type": "function",
                        "function": function,
                    }
                ],
            }
        else:
            reply = _file_answer(json.dumps(body["messages"])) or cue.says or DONE
            delta = {"role": "assistant", "content": reply}
        reason = "tool_calls" if tool else "stop"
        head = {"id": "chat_1", "model": "fake-model", "created": 1}
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": reason}
            return web.json_response({**head, "object": "chat.completion", "choices": [choice]})
        chunk = {**head, "object": "chat.completion.chunk"}
        first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        return await _sse(request, [("", first), ("", last)], end="[DONE]")

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request)
        cue = cue_of(_of_messages(body["messages"])) if body.get("tools") else Cue()
        await self._wait(cue)
        tool, reply = cue.tool, cue.says or DONE
        number = json.dumps(body["messages"]).count('"tool_result"') + 1
        block, start, delta = _block(number, tool, reply)
        reason = "tool_use" if tool else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message: dict[str, Any] = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "fake-model",
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        if not body.get("stream"):
            return web.json_response({**message, "content": [block], "stop_reason": reason})
        stop = {"stop_reason": reason, "stop_sequence": None}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"},
        ]
        return await _sse(request, [(e["type"], e) for e in events])

    async def _gemini(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["verb"] == "countTokens":
            return web.json_response({"totalTokens": 10})
        body = await self._read(request)
        cue = cue_of(_of_gemini(body["contents"])) if body.get("tools") else Cue()
        await self._wait(cue)
        tool = cue.tool
        shaped = body.get("generationConfig", {}).get("responseMimeType") == "application/json"
        part: dict[str, Any] = {"text": ROUTED if shaped else cue.says or DONE}
        if tool:
            part = {"functionCall": {"name": tool[0], "args": json.loads(tool[1])}}
        answer = {
            "candidates": [
                {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1},
            "modelVersion": request.match_info["model"],
        }
        if request.match_info["verb"] == "generateContent":
            return web.json_response(answer)
        return await _sse(request, [("", answer)])


def _output_item(name: str, tool: tuple[str, str] | None, reply: str) -> dict[str, Any]:
    """Return the output of OpenAI's Responses: a call, or a message."""
    if tool:
        call = {"type": "function_call", "id": name, "call_id": name.replace("fc_", "call_")}
        return {**call, "arguments": tool[1], "status": "completed", **_tool_name(tool[0])}
    content = [{"type": "output_text", "text": reply, "annotations": []}]
    about = {"type": "message", "id": name, "role": "assistant", "status": "completed"}
    return {**about, "content": content}


def _block(number: int, tool: tuple[str, str] | None, reply: str) -> tuple[dict[str, Any], ...]:
    """Return a block of Anthropic's Messages: whole, as it starts, and its only piece."""
    if tool is None:
        start = {"type": "text", "text": ""}
        return {**start, "text": reply}, start, {"type": "text_delta", "text": reply}
    block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": tool[0]}
    delta = {"type": "input_json_delta", "partial_json": tool[1]}
    return {**block, "input": json.loads(tool[1])}, {**block, "input": {}}, delta


def _tool_name(tool: str) -> dict[str, str]:
    """Return the name of a tool as models of OpenAI call it: a server's are in its namespace."""
    match = _SERVERS.fullmatch(tool)
    return {"name": tool} if match is None else {"namespace": match[1], "name": match[2]}


def _waited_for(output: dict[str, Any]) -> tuple[str, str] | None:
    """Return the call by which a model of Codex waits for a command that goes on."""
    match = GOES_ON.search(json.dumps(output))
    if match is None:
        return None
    request = {"session_id": int(match[1]), "chars": "", "yield_time_ms": LONGEST_MILLISECONDS}
    return "write_stdin", json.dumps(request)


def _of_responses(items: list[dict[str, Any]]) -> Iterator[str | None]:
    for item in items:
        if str(item.get("type", "")).endswith("call_output"):
            yield RESULT
        elif item.get("role") == "user":
            yield _message_text(item["content"])


def _of_chat(messages: list[dict[str, Any]]) -> Iterator[str | None]:
    for message in messages:
        if message["role"] == "tool":
            yield RESULT
        elif message["role"] == "user":
            yield _message_text(message["content"])


def _of_messages(messages: list[dict[str, Any]]) -> Iterator[str | None]:
    """A message a person queues may come in one turn with a tool's result, before or behind it."""
    for message in messages:
        content = message["content"] if message["role"] == "user" else []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            yield RESULT if block["type"] == "tool_result" else str(block.get("text", ""))


def _of_gemini(contents: list[dict[str, Any]]) -> Iterator[str | None]:
    for content in contents:
        for part in content["parts"] if content.get("role") != "model" else ():
            yield RESULT if "functionResponse" in part else str(part.get("text", ""))


def _message_text(content: Any) -> str:
    """Return the text of a message, whole or in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def _file_answer(conversation: str) -> str | None:
    """The answer to the last `[[write …]]`: a file as Aider's `whole` format spells it."""
    scripts = WRITE.findall(conversation)
    return "{}\n```\n{}\n```\n".format(*scripts[-1]) if scripts else None


async def _sse(
    request: web.Request, events: list[tuple[str, dict[str, Any]]], end: str = ""
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        await response.write(f"{head}data: {json.dumps(data)}\n\n".encode())
    if end:
        await response.write(f"data: {end}\n\n".encode())
    await response.write_eof()
    return response


@asynccontextmanager
async def model_server(key: str) -> AsyncIterator[ModelServer]:
    """Serve on a port the system gives until the context ends."""
    server = ModelServer(key)
    runner = web.AppRunner(server.app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        # A minute would be given to answers that are held.
        for gate in server.gates.values():
            gate.set()
        await runner.cleanup()


if __name__ == "__main__":
    web.run_app(ModelServer(sys.argv[2]).app(), host="127.0.0.1", port=int(sys.argv[1]))
