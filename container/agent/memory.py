"""What conversations remember: of each session id the messages of its turns, in the order in which they ended."""

from collections import OrderedDict

from strands.types.content import Messages

__all__ = ["MAX_CONVERSATIONS", "Memory"]

MAX_CONVERSATIONS = 256
"""Conversations that are remembered. Deployed, each session has a machine of its own, and so one."""


class Memory:
    """Lends each turn its conversation, and takes in what the turn has made of it."""

    def __init__(self) -> None:
        self._conversations: OrderedDict[str, Messages] = OrderedDict()

    def recall(self, session_id: str | None) -> Messages:
        """Return the messages so far, in a list of the caller's own; None: of no conversation."""
        return list(self._conversations.get(session_id or "", []))

    def add(self, session_id: str, before: Messages, after: Messages) -> None:
        """Take in a turn that found `before` and left `after`.

        Another turn may have ended meanwhile, so it is the difference that counts: what the turn said is appended, and
        what its agent dropped, because the conversation had become too long, is dropped.
        """
        found, kept = set(map(id, before)), set(map(id, after))
        dropped = found - kept
        messages = [message for message in self.recall(session_id) if id(message) not in dropped]
        self._conversations[session_id] = messages + [message for message in after if id(message) not in found]
        self._conversations.move_to_end(session_id)
        while len(self._conversations) > MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)
