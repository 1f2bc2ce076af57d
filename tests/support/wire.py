"""HTTP/1.1 messages and server-sent events as bytes, so that an engine can break any rule it likes."""

import json
from collections.abc import Iterable, Sequence
from http import HTTPStatus

Headers = Sequence[tuple[str, str]]

LAST_CHUNK = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"
SSE_HEADERS: Headers = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
CHUNKED: Headers = (("transfer-encoding", "chunked"),)


def head(status: int = 200, headers: Headers = (), version: str = "1.1") -> bytes:
    """A response's status line and headers, blank line included."""
    lines = [f"HTTP/{version} {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; empty data gives nothing, since an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def unchunk(data: bytes) -> bytes:
    """The body that whole chunks carry. Raises ValueError for anything else, the last chunk included."""
    body = b""
    while data:
        size, data = data.split(b"\r\n", 1)
        length = int(size, 16)
        if not length or data[length : length + 2] != b"\r\n":
            raise ValueError(data)
        body, data = body + data[:length], data[length + 2 :]
    return body


def reply(status: int, body: bytes, headers: Headers = (("content-type", "application/json"),)) -> bytes:
    """A whole response with its Content-Length."""
    return head(status, (*headers, ("content-length", str(len(body))))) + body


def json_reply(status: int, value: object, headers: Headers = ()) -> bytes:
    """A whole JSON response."""
    return reply(status, json.dumps(value).encode(), (("content-type", "application/json"), *headers))


def event(value: object, eol: bytes = b"\n") -> bytes:
    """One data event holding the value as JSON, UTF-8 unescaped as engines write it."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + eol * 2


def comment(text: str = "ping", eol: bytes = b"\n") -> bytes:
    """An SSE comment, which engines send to keep a connection open."""
    return b": " + text.encode() + eol * 2


def chat_delta(text: str | None, finish: str | None = None, model: str = "fake", index: int = 0) -> dict[str, object]:
    """A chat.completion.chunk; with text None its delta only names the role."""
    delta = {"role": "assistant", "content": ""} if text is None else {"content": text}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
    }


def usage(prompt: int = 7, completion: int = 3) -> dict[str, int]:
    """A usage object."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def usage_chunk(prompt: int = 7, completion: int = 3) -> dict[str, object]:
    """The chunk that `stream_options.include_usage` adds at the end: no choices, only usage."""
    return {**chat_delta(None), "choices": [], "usage": usage(prompt, completion)}


def chat_events(words: Iterable[str], eol: bytes = b"\n", usage_tail: bool = False) -> list[bytes]:
    """A whole chat stream: the role, each word, the finish reason, the usage chunk if wanted, [DONE]."""
    chunks: list[object] = [chat_delta(None), *(chat_delta(word) for word in words), chat_delta("", finish="stop")]
    if usage_tail:
        chunks.append(usage_chunk())
    return [*(event(value, eol) for value in chunks), b"data: [DONE]" + eol * 2]


def cut(data: bytes, points: Iterable[int]) -> list[bytes]:
    """The data in pieces, cut at the given offsets (any order, repeats allowed)."""
    offsets = sorted({point for point in points if 0 < point < len(data)})
    return [data[start:end] for start, end in zip([0, *offsets], [*offsets, len(data)], strict=True)]
