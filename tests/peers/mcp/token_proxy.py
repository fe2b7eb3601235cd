"""A proxy on loopback that adds a token, for programs that send none, and translates names."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import aiohttp
from aiohttp import web

HOP = frozenset({"connection", "transfer-encoding", "content-length", "date", "server"})


@asynccontextmanager
async def token_proxy(url: str, token: str, names: Mapping[str, str]) -> AsyncIterator[str]:
    """The proxy's URL. In requests each of `names` becomes its value, in answers the other way;
    streams pass as they come."""

    async def pass_on(request: web.Request) -> web.StreamResponse:
        headers = {key: there(value) for key, value in request.headers.items()}
        headers["Authorization"] = f"Bearer {token}"
        headers.pop("Content-Length", None)
        body = there((await request.read()).decode()).encode()
        sent = client.request(request.method, url + request.path_qs, headers=headers, data=body)
        async with sent as answer:
            kept = {key: one for key, one in answer.headers.items() if key.lower() not in HOP}
            if answer.content_type != "text/event-stream":
                back = names_back((await answer.read()).decode()).encode()
                return web.Response(status=answer.status, headers=kept, body=back)
            stream = web.StreamResponse(status=answer.status, headers=kept)
            await stream.prepare(request)
            # Who listens leaves when it has heard enough.
            with suppress(ConnectionResetError):
                async for part in answer.content.iter_any():
                    await stream.write(part)
            return stream

    def there(text: str) -> str:
        for theirs, ours in names.items():
            text = text.replace(theirs, ours)
        return text

    def names_back(text: str) -> str:
        for theirs, ours in names.items():
            text = text.replace(ours, theirs)
        return text

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", pass_on)
    runner = web.AppRunner(app, shutdown_timeout=0)
    async with aiohttp.ClientSession(auto_decompress=False) as client:
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()
