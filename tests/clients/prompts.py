"""What the fake engine does at the word of a prompt, so that a client in another process can choose it."""

from tests.support.behaviours import FIRST_EVENTS, Behaviour, End, answer, broken_stream, fail, play, stream
from tests.support.exchange import Exchange
from tests.support.wire import DONE, chat_delta, comment, event, json_reply, usage

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}


def _delta(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    return {**chat_delta(None), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def _call_a_tool(exchange: Exchange) -> None:
    if not exchange.request.json().get("stream"):
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice]}
        await exchange.send(json_reply(200, {**whole, "usage": usage()}))
        return
    pieces = [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": ""}},
        *({"index": 0, "function": {"arguments": part}} for part in ('{"ci', 'ty": "Par', 'is"}')),
    ]
    events = [event(_delta({"tool_calls": [piece]})) for piece in pieces]
    await stream([event(chat_delta(None)), *events, event(_delta({}, "tool_calls")), DONE])(exchange)


PROMPTS: dict[str, Behaviour] = {
    "break": broken_stream([*FIRST_EVENTS, b'data: {"id"'], gap=0.02),
    "break before": play(End.RESET),
    "hang": play(End.HANG),
    "go on": stream([event(chat_delta(f"{number} ")) for number in range(1000)], gap=0.02),
    "call a tool": _call_a_tool,
    "with pings": stream([comment(), event(chat_delta("a"), b"\r\n"), comment("é"), event(chat_delta("b")), DONE]),
    "bad request": fail(400, "max_tokens is too large"),
    "too many": fail(429, "slow down", headers=(("retry-after", "0"),)),
    "crash": fail(500, "CUDA error"),
}


async def by_prompt(exchange: Exchange) -> None:
    """Does what the last message says, or answers."""
    body = exchange.request.json()
    messages = body.get("messages") or [{"content": body.get("prompt") or body.get("input")}]
    behaviour = PROMPTS.get(str(messages[-1]["content"])) or answer()
    await behaviour(exchange)
