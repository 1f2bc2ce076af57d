"""What a fake engine does with a request: the right answers, and every wrong one seen in the field."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Literal

from tests.support.exchange import Exchange, Gate
from tests.support.wire import (
    CHUNKED,
    DONE,
    LAST_CHUNK,
    SSE_HEADERS,
    Headers,
    chat_events,
    chunk,
    event,
    head,
    json_reply,
    reply,
    usage,
)

Behaviour = Callable[[Exchange], Awaitable[None]]
Framing = Literal["chunked", "length", "close"]


class End(Enum):
    """How a scripted answer leaves its connection; without one it is kept alive."""

    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


Step = bytes | float | Gate | End


def play(*steps: Step) -> Behaviour:
    """Sends bytes, sleeps the numbers (seconds), waits for gates, ends as told."""

    async def behave(exchange: Exchange) -> None:
        for step in steps:
            match step:
                case bytes():
                    await exchange.send(step)
                case Gate():
                    await exchange.wait(step)
                case End.CLOSE:
                    exchange.close()
                case End.RESET:
                    exchange.reset()
                case End.HANG:
                    await exchange.hang()
                case float() | int():
                    await exchange.sleep(step)

    return behave


def stream(
    writes: Sequence[bytes | Gate],
    *,
    gap: float = 0.0,
    framing: Framing = "chunked",
    before_head: float = 0.0,
    before_body: float = 0.0,
    headers: Headers = (),
    version: str = "1.1",
) -> Behaviour:
    """An event stream, each item a write (and a chunk) of its own, `gap` seconds apart; gates hold it until opened."""
    data = b"".join(item for item in writes if isinstance(item, bytes))
    framing_headers: Headers = {
        "chunked": CHUNKED,
        "length": (("content-length", str(len(data))),),
        "close": (("connection", "close"),),
    }[framing]
    steps: list[Step] = [before_head, head(200, (*SSE_HEADERS, *framing_headers, *headers), version), before_body]
    for item in writes:
        steps.append(chunk(item) if isinstance(item, bytes) and framing == "chunked" else item)
        if gap:
            steps.append(gap)
    if framing == "chunked":
        steps.append(LAST_CHUNK)
    if framing == "close":
        steps.append(End.CLOSE)
    return play(*steps)


def broken_stream(writes: Sequence[bytes], end: End = End.CLOSE, *, gap: float = 0.0) -> Behaviour:
    """A chunked event stream that ends without its last chunk."""
    steps: list[Step] = [head(200, (*SSE_HEADERS, *CHUNKED))]
    for item in writes:
        steps += [chunk(item), gap]
    return play(*steps, end)


def fail(status: int, message: str = "engine says no", headers: Headers = ()) -> Behaviour:
    """An error in OpenAI's shape."""
    error = {"message": message, "type": "engine_error", "param": None, "code": status}
    return play(json_reply(status, {"error": error}, headers))


def close_on_reuse(otherwise: Behaviour) -> Behaviour:
    """The keep-alive race: closes unanswered any request that is not the first on its connection."""

    async def behave(exchange: Exchange) -> None:
        if exchange.request.turn > 0:
            exchange.close()
        else:
            await otherwise(exchange)

    return behave


def answer(words: Iterable[str] = ("one ", "two ", "three"), gap: float = 0.0, hold: Gate | None = None) -> Behaviour:
    """A well-behaved engine: chat, completions and embeddings, streamed when asked, usage when asked.

    A stream with `hold` stops after its first word until the gate opens; an unstreamed reply waits for it whole.
    """
    words = tuple(words)

    async def behave(exchange: Exchange) -> None:
        path = exchange.request.target.partition("?")[0]
        body: dict[str, Any] = exchange.request.json() if exchange.request.body.startswith(b"{") else {}
        if body.get("stream"):
            asked = (body.get("stream_options") or {}).get("include_usage", False)
            events = chat_events(words, usage_tail=asked) if path != "/v1/completions" else _text_events(words, asked)
            held: list[bytes | Gate] = [*events[:2], hold, *events[2:]] if hold else [*events]
            await stream(held, gap=gap)(exchange)
            return
        if hold:
            await exchange.wait(hold)
        await exchange.sleep(gap * len(words))
        await exchange.send(json_reply(200, _whole(path, body, "".join(words))))

    return behave


def _text_events(words: Iterable[str], usage_tail: bool) -> list[bytes]:
    base = {"id": "cmpl-fake", "object": "text_completion", "created": 1, "model": "fake"}
    chunks: list[object] = [
        {**base, "choices": [{"index": 0, "text": word, "finish_reason": None, "logprobs": None}]} for word in words
    ]
    if usage_tail:
        chunks.append({**base, "choices": [], "usage": usage()})
    return [*(event(value) for value in chunks), DONE]


def _whole(path: str, body: dict[str, Any], text: str) -> dict[str, object]:
    base = {"id": "fake", "created": 1, "model": body.get("model"), "usage": usage()}
    if path == "/v1/embeddings":
        inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"object": "embedding", "index": i, "embedding": [0.5, float(i)]} for i in range(len(inputs))]
        return {**base, "object": "list", "data": data}
    if path == "/v1/completions":
        choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
        return {**base, "object": "text_completion", "choices": [choice]}
    message = {"role": "assistant", "content": text}
    return {
        **base,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
    }


HELLO = chat_events(("hello",))
FIRST_EVENTS = HELLO[:2]
JSON_BODY = b'{"object": "chat.completion", "choices": []}'

# Nothing of the answer has been seen by the gateway's client: another replica may be tried.
BEFORE_FIRST_BYTE: dict[str, Behaviour] = {
    "close before head": play(End.CLOSE),
    "reset before head": play(End.RESET),
    "close in the middle of the head": play(b"HTTP/1.1 200 OK\r\ncontent-ty", 0.02, End.CLOSE),
    "close between head and body": play(head(200, (*SSE_HEADERS, *CHUNKED)), 0.02, End.CLOSE),
    "reset between head and body": play(head(200, (*SSE_HEADERS, *CHUNKED)), 0.02, End.RESET),
    "502": fail(502),
    "503": fail(503),
    "503 with Retry-After": fail(503, headers=(("retry-after", "1"),)),
    "504": fail(504),
    "garbage instead of HTTP": play(b"SSH-2.0-OpenSSH_9.2p1\r\n", 0.02, End.CLOSE),
    "garbage and the connection stays": play(b"\x16\x03\x01\x00\xff not http at all\r\n\r\n", End.HANG),
    "header without end": play(b"HTTP/1.1 200 OK\r\nx-flood: " + b"a" * 2_000_000, End.HANG),
}

# The answer has begun: it must end visibly broken, and never be tried again.
AFTER_FIRST_BYTE: dict[str, Behaviour] = {
    "close after an event": broken_stream(FIRST_EVENTS, gap=0.02),
    "reset after an event": broken_stream(FIRST_EVENTS, End.RESET, gap=0.1),
    "close inside an event": broken_stream([*FIRST_EVENTS, b'data: {"id": "chatcmpl-fa'], gap=0.02),
    "close inside a chunk": play(
        head(200, (*SSE_HEADERS, *CHUNKED)), chunk(b"".join(FIRST_EVENTS)), b"40\r\ndata: {", 0.02, End.CLOSE
    ),
    "garbage as chunk size": play(
        head(200, (*SSE_HEADERS, *CHUNKED)), chunk(b"".join(FIRST_EVENTS)), 0.1, b"zz\r\noops\r\n", End.HANG
    ),
    "Content-Length longer than the stream": play(
        head(200, (*SSE_HEADERS, ("content-length", "100000"))), b"".join(FIRST_EVENTS), 0.02, End.CLOSE
    ),
}

# Unusual but correct: passed on as it is.
ODD_BUT_FINE: dict[str, Behaviour] = {
    "HTTP/1.0 and closed at the end": stream(HELLO, framing="close", version="1.0"),
    "closed at the end": stream(HELLO, framing="close"),
    "keep-alive advertised, then closed": play(
        head(200, (*SSE_HEADERS, *CHUNKED, ("connection", "keep-alive"))), *map(chunk, HELLO), LAST_CHUNK, End.CLOSE
    ),
    "103 first": play(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", reply(200, b"".join(HELLO), SSE_HEADERS)),
    "100 first": play(b"HTTP/1.1 100 Continue\r\n\r\n", reply(200, b"".join(HELLO), SSE_HEADERS)),
    "chunk extensions and trailers": play(
        head(200, (*SSE_HEADERS, *CHUNKED)),
        *(b"%x;ext=1\r\n%b\r\n" % (len(item), item) for item in HELLO),
        b"0\r\nx-trailer: 1\r\n\r\n",
    ),
    "one byte a write": play(
        *(bytes([byte]) for byte in head(200, (*SSE_HEADERS, *CHUNKED)) + b"".join(map(chunk, HELLO)) + LAST_CHUNK)
    ),
    "slow head": stream(HELLO, before_head=0.3),
    "slow first byte": stream(HELLO, before_body=0.3),
    "20 KB of headers": stream(HELLO, headers=tuple((f"x-h{i}", "v" * 200) for i in range(100))),
    "Content-Length": stream(HELLO, framing="length"),
}
