"""What engines are asked: text that is drafted well, badly, and in between, long and short."""

import json
from pathlib import Path

PROMPTS = (
    "Write a Python function that merges two sorted lists, with a docstring and three examples.",
    "Count from one to forty in words, separated by commas: one, two, three,",
    "Repeat this text three times, each on a line of its own: the quick brown fox jumps over the lazy dog.",
    "Explain to a new colleague, in a few paragraphs, how TCP recovers from a lost segment.",
    'Turn this into JSON with the keys "name", "age" and "city": Ada, 36, lives in London; Alan, 41, in Manchester.',
    "def fibonacci(n):\n    # iterative, with the first two values as a base\n",
    "Once upon a time, in a village between two rivers, there lived a clockmaker who",
    "A train leaves at 9:40 and needs 3 hours and 35 minutes. Another leaves at 10:15 and needs 2 hours 50. "
    "Which arrives first? Think step by step.",
    "Translate into German, then into French: The meeting has been moved to Thursday, as the room is painted.",
    "SELECT name, count(*) FROM orders JOIN customers ON orders.customer_id = customers.id WHERE",
    "List the planets of the solar system with their diameters in kilometres, as a Markdown table.",
    "The following is a log of a server that ran out of memory. What happened, and in which order?\n"
    + "".join(
        f"12:00:{s:02d} worker-{s % 4} allocated {s * 37} MiB, {4096 - s * 61} MiB left\n" for s in range(0, 60, 2)
    ),
)


def load(path: Path | None) -> tuple[str, ...]:
    """The prompts of a file, one JSON string a line; those of this module if there is no file.

    Raises:
        OSError: it can't be read.
        ValueError: a line is not a JSON string, or there is none.
    """
    if path is None:
        return PROMPTS
    found: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip():
            continue
        try:
            prompt = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: is no JSON: {error}") from None
        if not isinstance(prompt, str):
            raise ValueError(f"{path}, line {number}: is no string")
        found.append(prompt)
    if not found:
        raise ValueError(f"{path}: has no prompt")
    return tuple(found)
