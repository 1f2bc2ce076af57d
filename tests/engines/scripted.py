"""Engines that answer with tokens 100, 101, ... as SGLang or one with OpenAI's API would, but for what differs."""

import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Scripted:
    """What it is, and in what it differs. `changed`: other tokens at these places; `margin`: by how much each leads."""

    def __init__(
        self,
        kind: str,
        *,
        length: int = 8,
        changed: Mapping[int, int] | None = None,
        margin: float = 3.0,
        accept_length: float | None = None,
        status: int = 200,
    ) -> None:
        self.kind = kind
        self.length = length
        self.tokens = [(changed or {}).get(place, 100 + place) for place in range(length)]
        self.margin = margin
        self.accept_length = accept_length
        self.status = status
        self.url = ""

    def get(self, path: str) -> Any:
        """What a GET is answered with; None for 404."""
        if self.kind == "sglang" and path == "/model_info":
            return {"model_path": "/m"}
        if self.kind == "openai" and path == "/v1/models":
            return {"data": [{"id": "m"}]}
        return None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """What a POST is answered with; None for 404."""
        if self.kind == "sglang" and path == "/generate":
            tokens = self.tokens[: body["sampling_params"]["max_new_tokens"]]
            meta: dict[str, Any] = {}
            if self.accept_length:
                meta["spec_accept_length"] = self.accept_length
            if body.get("return_logprob"):
                meta["output_top_logprobs"] = [[[-0.1, it, None], [-0.1 - self.margin, 1, None]] for it in tokens]
            return {"text": _text(tokens), "output_ids": tokens, "meta_info": meta}
        if self.kind == "openai" and path == "/v1/completions":
            tokens = self.tokens[: body["max_tokens"]]
            return {"choices": [{"text": _text(tokens)}], "usage": {"completion_tokens": len(tokens)}}
        return None


def _text(tokens: list[int]) -> str:
    return "".join(f"<{token}>" for token in tokens)


@contextmanager
def serving(engine: Scripted) -> Iterator[Scripted]:
    """The engine on a free port, as its `url` says."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(engine.get(self.path), 200)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._answer(engine.post(self.path, body), engine.status)

        def _answer(self, content: Any, status: int) -> None:
            text = json.dumps(content or {}).encode()
            self.send_response(status if content is not None else 404)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        engine.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield engine
        server.shutdown()
        thread.join()
