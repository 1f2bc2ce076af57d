"""What the demo asks for: a small edit of given code, so that most of the answer can be drafted from the question."""

_SNIPPETS = (
    """\
HOST = '127.0.0.1'
PORT = 8080
TIMEOUT = 30
RETRIES = 3
DEBUG = False
NAME = 'gateway'
LEVEL = 'info'
MAX_SIZE = 1024""",
    """\
class Point:
    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self.z = z

    def move(self, x, y, z):
        self.x = self.x + x
        self.y = self.y + y
        self.z = self.z + z""",
    """\
def name_of_day(day):
    if day == 0:
        return 'Monday'
    if day == 1:
        return 'Tuesday'
    if day == 2:
        return 'Wednesday'
    if day == 3:
        return 'Thursday'
    if day == 4:
        return 'Friday'""",
    """\
import os
import sys
import json
import time
import socket
import logging

logger = logging.getLogger(__name__)

def main():
    logger.info('start')
    time.sleep(1)
    logger.info('stop')""",
    """\
def price(color):
    if color == 'red':
        return 10
    if color == 'green':
        return 20
    if color == 'blue':
        return 30
    if color == 'white':
        return 40
    if color == 'black':
        return 50""",
    """\
class User:
    def __init__(self, name, email, phone):
        self.name = name
        self.email = email
        self.phone = phone

    def get_name(self):
        return self.name

    def get_email(self):
        return self.email""",
    """\
def test_add():
    assert add(1, 2) == 3
    assert add(2, 3) == 5
    assert add(3, 4) == 7
    assert add(4, 5) == 9
    assert add(5, 6) == 11""",
    """\
days = {
    'monday': 1,
    'tuesday': 2,
    'wednesday': 3,
    'thursday': 4,
    'friday': 5,
    'saturday': 6,
    'sunday': 7,
}""",
)

_EDITS = ("Add a comment at the end of this code:", "Add a docstring to this code, change nothing else:")

# As many as an engine has slots, so that each prompt finds its own again and only new tokens are computed.
DISTINCT = len(_EDITS) * len(_SNIPPETS)


def prompts(count: int) -> list[str]:
    """`count` prompts, always in the same order, DISTINCT of them before the first comes again."""
    return [_prompt(number % DISTINCT) for number in range(count)]


def _prompt(number: int) -> str:
    turn, snippet = divmod(number, len(_SNIPPETS))
    edit = _EDITS[(number + turn) % len(_EDITS)]
    return f"{edit}\n```python\n{_SNIPPETS[snippet]}\n```"
