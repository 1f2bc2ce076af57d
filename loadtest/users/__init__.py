"""Locust's users: each kind of client that a gateway meets, measured by the same client as the sweep.

Importing this imports locust, which patches sockets, SSL and threads for the whole process: only the locustfile does.
"""

from loadtest.users.arrivals import ArrivalUser
from loadtest.users.base import StreamingUser, first_model, sampled, user_left
from loadtest.users.kinds import CancellingUser, ChatUser, ConversationUser, LongPromptUser, ToolUser

__all__ = [
    "ArrivalUser",
    "CancellingUser",
    "ChatUser",
    "ConversationUser",
    "LongPromptUser",
    "StreamingUser",
    "ToolUser",
    "first_model",
    "sampled",
    "user_left",
]
