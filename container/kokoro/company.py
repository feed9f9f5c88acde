"""How many work side by side."""

import itertools
import threading


class Company:
    """Counts, for each of those who come and go, how many were there at most in its time. Safe from any thread."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._most: dict[int, int] = {}
        self._lock = threading.Lock()

    def join(self) -> int:
        """Come, and return a number to leave with."""
        with self._lock:
            number = next(self._numbers)
            self._most[number] = 0
            for each in self._most:
                self._most[each] = max(self._most[each], len(self._most))
            return number

    def leave(self, number: int) -> int:
        """Leave, and return how many were there at most, oneself included."""
        with self._lock:
            return self._most.pop(number)
