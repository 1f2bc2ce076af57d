"""Token counts, read once per response from its last bytes."""

import re
from typing import NamedTuple


class Tokens(NamedTuple):
    """Tokens of one request; None where the engine did not say."""

    prompt: int | None = None
    completion: int | None = None


# Chat, completions, embeddings and SGLang's /generate name them so; responses and messages name them the other way.
_PROMPT = (b'"prompt_tokens"', b'"input_tokens"')
_COMPLETION = (b'"completion_tokens"', b'"output_tokens"')
# A whole number and nothing but. Of 10^8 tokens and more no request is: what claims so is not believed.
_NUMBER = re.compile(rb"\s*:\s*(\d{1,8})(?=\s*[,}\]])")


def read_tokens(tail: bytes) -> Tokens:
    """The last counts in `tail`. Inside a string a quote is escaped, so generated text is not mistaken for a key."""
    return Tokens(_last(tail, _PROMPT), _last(tail, _COMPLETION))


def _last(tail: bytes, keys: tuple[bytes, ...]) -> int | None:
    for key in keys:
        at = tail.rfind(key)
        if at >= 0 and (number := _NUMBER.match(tail, at + len(key))):
            return int(number[1])
    return None
