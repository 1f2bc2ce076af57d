"""The kinds of users. Their weights are shares of the users, not of the requests: name classes to choose others."""

import math
from typing import Any

from locust import task

from loadtest.client import Ask
from loadtest.prompts import long_prompt
from loadtest.users.base import StreamingUser, user_message

TURNS = 6
FOLLOW_UPS = (
    "Now explain the change in one sentence.",
    "Give the whole code again with a comment at its top.",
    "What would break if this were called twice at once?",
    "Write one test for it.",
    "Rename the first variable, and give the whole code again.",
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Returns a file of the project.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "run_tests",
            "description": "Runs the project's tests and returns their output.",
            "parameters": {"type": "object", "properties": {"filter": {"type": "string"}}},
        },
    },
]


class ChatUser(StreamingUser):
    """Single questions from the mix, with a pause to read each answer."""

    weight = 6
    pause = (1, 5)

    @task
    def chat(self) -> None:
        """One question."""
        self.ask("chat", Ask(self.body([user_message(self.unique(next(self.prompts).text))])))


class LongPromptUser(StreamingUser):
    """Tasks about a whole project: prompts of log-normal length around `--long-tokens`, a tenth above twice that."""

    weight = 1
    pause = (5, 15)

    @task
    def long_prompt(self) -> None:
        """One task."""
        tokens = round(self.long_tokens * math.exp(self.rng.gauss(0, 0.54)))
        prompt = long_prompt(self.rng, tokens)
        self.ask("long prompt", Ask(self.body([user_message(self.unique(prompt.text))])))


class ConversationUser(StreamingUser):
    """Conversations of up to six turns: each request has the whole conversation so far as its prefix."""

    weight = 2
    pause = (1, 5)

    def on_start(self) -> None:
        """Begins with none."""
        self._messages: list[dict[str, Any]] = []

    @task
    def turn(self) -> None:
        """The next turn, or the first of a new conversation once this one is long or has failed."""
        turn = len(self._messages) // 2
        if turn >= TURNS:
            self._messages, turn = [], 0
        text = self.rng.choice(FOLLOW_UPS) if turn else self.unique(next(self.prompts).text)
        asked = [*self._messages, user_message(text)]
        sample = self.ask(f"conversation turn {turn + 1}", Ask(self.body(asked), keep_text=True))
        self._messages = [*asked, {"role": "assistant", "content": sample.text}] if sample.ok else []


class ToolUser(StreamingUser):
    """An agent's step: a request with tools, then one with a tool's result."""

    weight = 1
    pause = (0.5, 2)

    @task
    def step(self) -> None:
        """Both requests."""
        asked = [user_message(self.unique(next(self.prompts).text))]
        if not self.ask("tools: call", Ask(self.body(asked, tools=TOOLS))).ok:
            return
        call = {"id": "call_1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}
        asked += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "2 failed, 118 passed in 41.2 s"},
        ]
        self.ask("tools: result", Ask(self.body(asked, tools=TOOLS)))


class CancellingUser(StreamingUser):
    """Clients that leave: before the first token, or after a few. That is no failure."""

    weight = 1
    pause = (1, 5)

    @task
    def cancel(self) -> None:
        """One request that is not followed to its end, unless that comes first."""
        after = self.rng.choice((0, 1, 5, 20))
        messages = [user_message(self.unique(next(self.prompts).text))]
        self.ask("cancelled", Ask(self.body(messages), cancel_after=after))
