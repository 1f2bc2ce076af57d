"""Real engines on this machine, for the demo and for tests: llama.cpp serving a small model, one process each."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx

from gateway.demo.process import Child, ChildFailedError

MODEL_NAME = "smollm2"
LOAD_TIMEOUT = 120.0

_ADDRESS = re.compile(r"^engine ready at (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Drafting:
    """N-gram speculation: the last `match` tokens are looked up in the context, the `tokens` after them drafted."""

    tokens: int = 16
    match: int = 3


class LocalEngine(Child):
    """One engine. As a context manager it is ready inside the block; `start` and `wait_ready` let several load at once.

    It listens on a free port unless `port` is given, and on the same one again after `kill` or `stop` and `start`.
    `slots` requests are served at once, each with `context` tokens at most; more requests wait in the engine. A request
    gets the free slot that knows most of its prompt, if that is the share `similarity` of it, else the longest unused.

    llama.cpp keeps a memory for each slot, and reads all weights anew for each stretch of neighbouring slots in use:
    its speed depends on which they are, by a third. With `unified` it keeps one for all, and only their number counts.
    """

    def __init__(
        self,
        model: Path,
        *,
        name: str = "engine",
        drafting: Drafting | None = None,
        alias: str = MODEL_NAME,
        port: int = 0,
        slots: int = 16,
        context: int = 1024,
        threads: int = 1,
        similarity: float = 0.1,
        unified: bool = False,
        log: Path | None = None,
    ) -> None:
        arguments = ["--model", str(model), "--alias", alias, "--port", str(port)]
        arguments += ["--slots", str(slots), "--context", str(context), "--threads", str(threads)]
        arguments += ["--similarity", str(similarity)]
        if unified:
            arguments.append("--unified")
        if drafting is not None:
            arguments += ["--draft", str(drafting.tokens), "--match", str(drafting.match)]
        super().__init__(name, "gateway.demo.engine", arguments, log)
        self._url = ""

    @property
    def url(self) -> str:
        """Its base URL, without a slash at the end. Raises ChildFailedError before `wait_ready` has returned."""
        if not self._url:
            raise ChildFailedError(f"{self.name} has no address yet: call wait_ready first")
        return self._url

    def wait_ready(self, timeout: float = LOAD_TIMEOUT) -> None:
        """Returns once the model is loaded. Raises ChildFailedError when it ends, or after `timeout` seconds."""
        self.wait_until(self._is_ready, timeout)

    def _is_ready(self) -> bool:
        found = _ADDRESS.search(self.log.read_text(errors="replace"))
        if found is None:
            return False
        self._url = found[1]
        self.arguments[self.arguments.index("--port") + 1] = str(httpx.URL(self._url).port)
        return True

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.wait_ready()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self
