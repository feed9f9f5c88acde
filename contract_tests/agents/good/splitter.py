"""Sentences out of the deltas of a model, by a few rules: enough for a stand-in."""

import re

__all__ = ["Splitter"]

_END = re.compile(r"[.!?…]+[\"')\]]*(?=\s+[^\sa-z])")
_ABBREVIATED = re.compile(r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Prof|e\.g|i\.e|a\.m|p\.m))\.$")


class Splitter:
    """Takes deltas, gives sentences. A mark ends one where white space and no small letter follow."""

    def __init__(self) -> None:
        self.buffer = ""

    def feed(self, delta: str) -> list[str]:
        """Take the next delta; return the sentences that it completed."""
        self.buffer += delta
        done: list[str] = []
        begin = 0
        for match in _END.finditer(self.buffer):
            sentence = self.buffer[begin : match.end()]
            if not _ABBREVIATED.search(sentence):
                done.append(sentence.strip())
                begin = match.end()
        self.buffer = self.buffer[begin:]
        return done

    def flush(self) -> list[str]:
        """Return what is left."""
        rest, self.buffer = self.buffer.strip(), ""
        return [rest] if rest else []
