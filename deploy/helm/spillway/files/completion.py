"""Asks the gateway for a completion of each model, streamed as clients do, and says which pool answered.

Waits while the gateway has no ready replica or no room, up to TIMEOUT_SECONDS a model. Exits with 1 if one fails.
"""

import json
import os
import sys
import time
from pathlib import Path

import httpx


def main() -> int:
    """Ask each model of MODELS, with the first key of KEYS_FILE if there is one."""
    headers = {}
    if path := os.environ.get("KEYS_FILE"):
        lines = (line.strip() for line in Path(path).read_text().splitlines())
        key = next(line for line in lines if line and not line.startswith("#"))
        headers["authorization"] = f"Bearer {key}"
    timeout = float(os.environ["TIMEOUT_SECONDS"])
    # The certificate is made for the name that clients use, not for the Service's.
    with httpx.Client(base_url=os.environ["GATEWAY_URL"], headers=headers, timeout=timeout, verify=False) as client:
        answers = [ask(client, model, time.monotonic() + timeout) for model in json.loads(os.environ["MODELS"])]
    return 0 if all(answers) else 1


def ask(client: httpx.Client, model: str, deadline: float) -> bool:
    """Try until an answer other than 429 and 503 comes, or time is over."""
    body = {"model": model, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 16, "stream": True}
    while True:
        response, text = attempt(client, body)
        if response == "200 OK" and "[DONE]" in text:
            print(f"{model}: {text.count('data: ') - 1} events", flush=True)
            return True
        print(f"{model}: {response} {text[:500]}", file=sys.stderr, flush=True)
        if response.partition(" ")[0] not in ("429", "503", "error") or time.monotonic() > deadline:
            return False
        time.sleep(2)


def attempt(client: httpx.Client, body: dict[str, object]) -> tuple[str, str]:
    """Return the status and the body, which for an error is its message."""
    try:
        with client.stream("POST", "/v1/chat/completions", json=body) as response:
            text = response.read().decode(errors="replace")
            placed = [f"{name}: {value}" for name, value in response.headers.items() if name.startswith("x-spillway")]
            print(", ".join(placed), flush=True)
            return f"{response.status_code} {response.reason_phrase}", text
    except httpx.HTTPError as error:
        return f"error {type(error).__name__}", str(error)


if __name__ == "__main__":
    sys.exit(main())
