"""Each vendor's own SDK through a broker: `python calls.py PROVIDER BROKER`, in a venv of theirs.

Not a test and imports nothing of Atoll: prints what the SDK gave for a plain call, a stream, an
error of the vendor's, and an endpoint that no sandbox may use. The key is a placeholder.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

SAY = [{"role": "user", "content": "hello"}]
Result = dict[str, str]


def status(call: Callable[[], Any]) -> str:
    """The HTTP status an SDK's exception carries."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  each SDK has classes of its own
        for holder in (error, getattr(error, "response", None)):
            for name in ("status_code", "code", "status"):
                found = getattr(holder, name, None)
                if isinstance(found, int):
                    return str(found)
        return repr(error)
    return "no error"


def joined(parts: Iterable[Any]) -> str:
    return "".join(str(part) for part in parts if part)


def chat(client: Any, forbidden: Callable[[], Any]) -> Result:
    """SDKs shaped like OpenAI's chat."""

    def create(model: str, **more: Any) -> Any:
        return client.chat.completions.create(model=model, messages=SAY, **more)

    stream = create("fake", stream=True)
    return {
        "normal": create("fake").choices[0].message.content,
        "stream": joined(c.choices[0].delta.content for c in stream if c.choices),
        "error": status(lambda: create("missing")),
        "forbidden": status(forbidden),
    }


def openai(_base: str) -> Result:
    from openai import AsyncOpenAI, OpenAI

    client = OpenAI(max_retries=0)
    responses = client.responses.create(model="fake", input="hello")
    result = chat(client, lambda: client.files.list())

    async def realtime() -> str:
        other = AsyncOpenAI(max_retries=0)
        async with other.realtime.connect(model="fake") as connection:
            async for event in connection:
                return str(event.type)
        return ""

    return {**result, "responses": responses.output_text, "realtime": asyncio.run(realtime())}


def anthropic(_base: str) -> Result:
    from anthropic import Anthropic

    client = Anthropic(max_retries=0)

    def create(model: str) -> Any:
        return client.messages.create(model=model, max_tokens=9, messages=SAY)

    with client.messages.stream(model="fake", max_tokens=9, messages=SAY) as stream:
        streamed = joined(stream.text_stream)
    return {
        "normal": create("fake").content[0].text,
        "stream": streamed,
        "error": status(lambda: create("missing")),
        "forbidden": status(lambda: client.messages.batches.list()),
    }


def gemini(_base: str) -> Result:
    import google.genai as genai

    return _google(genai.Client())


def google(_base: str) -> Result:
    import google.genai as genai

    return _google(genai.Client(vertexai=True))


def _google(client: Any) -> Result:
    models = client.models
    stream = models.generate_content_stream(model="fake", contents="hello")
    return {
        "normal": models.generate_content(model="fake", contents="hello").text,
        "stream": joined(chunk.text for chunk in stream),
        "error": status(lambda: models.generate_content(model="missing", contents="hello")),
        "forbidden": status(lambda: list(client.batches.list())),
    }


def elevenlabs(base: str) -> Result:
    from elevenlabs.client import ElevenLabs

    client = ElevenLabs(base_url=base)
    speech = client.text_to_speech
    # This SDK makes every WebSocket address `wss:`, whatever its base URL says.
    speech._ws_base_url = base.replace("http", "ws", 1)

    def text() -> Iterable[str]:
        yield "hello"

    live = speech.convert_realtime(voice_id="fake", text=text())
    return {
        "normal": b"".join(speech.convert(voice_id="fake", text="hello")).decode(),
        "stream": b"".join(speech.stream(voice_id="fake", text="hello")).decode(),
        "error": status(lambda: list(speech.convert(voice_id="missing", text="hello"))),
        "forbidden": status(lambda: client.user.get()),
        "realtime": b"".join(live).decode(),
    }


def deepgram(base: str) -> Result:
    from deepgram import DeepgramClient
    from deepgram.environment import DeepgramClientEnvironment

    place = DeepgramClientEnvironment(
        base=base, production=base.replace("http", "ws", 1), agent=base, agent_rest=base
    )
    client = DeepgramClient(environment=place)
    audio = b"RIFF" * 100
    heard = client.listen.v1.media.transcribe_file(request=audio, model="fake")
    with client.listen.v1.connect(model="fake") as live:
        live.send_media(audio)
        told = live.recv()
    return {
        "normal": heard.results.channels[0].alternatives[0].transcript,
        "stream": b"".join(client.speak.v1.audio.generate(text="hello", model="fake")).decode(),
        "error": status(
            lambda: client.listen.v1.media.transcribe_file(request=audio, model="missing")
        ),
        "forbidden": status(lambda: client.manage.v1.projects.list()),
        "realtime": told.channel.alternatives[0].transcript,
    }


def groq(_base: str) -> Result:
    from groq import Groq

    client = Groq(max_retries=0)
    return chat(client, lambda: client.files.list())


def together(_base: str) -> Result:
    from together import Together

    client = Together(max_retries=0)
    return chat(client, lambda: client.files.list())


def fireworks(_base: str) -> Result:
    from fireworks import Fireworks

    client = Fireworks(max_retries=0, account_id="fake")
    return chat(client, lambda: client.get("/v1/accounts", cast_to=object))


def mistral(base: str) -> Result:
    from mistralai.client import Mistral

    client = Mistral(api_key=os.environ["MISTRAL_API_KEY"], server_url=base)

    def complete(model: str) -> Any:
        return client.chat.complete(model=model, messages=SAY)

    stream = client.chat.stream(model="fake", messages=SAY)
    return {
        "normal": complete("fake").choices[0].message.content,
        "stream": joined(event.data.choices[0].delta.content for event in stream),
        "error": status(lambda: complete("missing")),
        "forbidden": status(lambda: client.files.list()),
    }


def cohere(_base: str) -> Result:
    from cohere import ClientV2

    client = ClientV2()
    stream = client.chat_stream(model="fake", messages=SAY)
    return {
        "normal": client.chat(model="fake", messages=SAY).message.content[0].text,
        "stream": joined(
            event.delta.message.content.text for event in stream if event.type == "content-delta"
        ),
        "error": status(lambda: client.chat(model="missing", messages=SAY)),
        "forbidden": status(lambda: client.datasets.list()),
    }


def replicate(_base: str) -> Result:
    from replicate.client import Client

    client = Client()
    prediction = client.models.predictions.create(model="o/fake", input={"prompt": "hello"})
    prediction.wait()
    return {
        "normal": str(client.run("o/fake", input={"prompt": "hello"})),
        "stream": joined(prediction.output),
        "error": status(lambda: client.run("o/missing", input={})),
        "forbidden": status(lambda: client.deployments.list()),
    }


def huggingface(base: str) -> Result:
    from huggingface_hub import InferenceClient

    client = InferenceClient(base_url=f"{base}/v1")
    task = InferenceClient(model=f"{base}/hf-inference/models/o/fake")
    other = InferenceClient(model=f"{base}/api/whoami-v2")
    result = chat(client, lambda: other.text_classification("hello"))
    return {**result, "task": task.text_classification("hello")[0].label}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
