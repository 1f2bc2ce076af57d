"""What the demo asks for: a small edit of given code, so that most of the answer can be drafted from the question."""

from itertools import cycle, islice

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
    """\
class Car:
    def __init__(self, make, model, year):
        self.make = make
        self.model = model
        self.year = year

    def show(self):
        print(self.make)
        print(self.model)
        print(self.year)""",
)


DISTINCT = len(_SNIPPETS)


def prompts(count: int) -> list[str]:
    """`count` prompts, always in the same order, each snippet again after the last."""
    return [
        f"Add a comment at the end of this code:\n```python\n{code}\n```" for code in islice(cycle(_SNIPPETS), count)
    ]
