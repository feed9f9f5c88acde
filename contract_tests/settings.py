"""Reading profiles strictly: wrong types and unknown keys are errors that name the file and the key."""

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NoReturn

from emulator import facts

__all__ = ["ProfileError", "Table", "profile_names", "read_profile"]

_FOLDER = "profiles"
_SUFFIX = ".toml"
_LONGEST = 80

_NAMES = {str: "a string", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


class ProfileError(Exception):
    """Raised when a profile cannot be used. Says which file, which key, what is wrong and what was expected."""

    def __init__(self, file: str, key: str, problem: str, hint: str = "") -> None:
        self.file = file
        self.key = key
        self.problem = problem
        self.hint = hint
        super().__init__(file, key, problem, hint)

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}: " if self.key else f"{self.file}: "
        return f"{where}{self.problem}" + (f" {self.hint}" if self.hint else "")


def profile_names(package: str) -> list[str]:
    """Return the names of the profiles that come with a package."""
    folder = resources.files(package).joinpath(_FOLDER)
    return sorted(entry.name.removesuffix(_SUFFIX) for entry in folder.iterdir() if entry.name.endswith(_SUFFIX))


def read_profile(package: str, name_or_file: str, kind: str) -> tuple["Table", str]:
    """Return a profile of a package by its name, or the one that stands in a TOML file: its table and its name.

    Raises:
        ProfileError: there is none (it ``is no`` ``kind``, then), or the file cannot be read.
    """
    known = profile_names(package)
    if name_or_file in known:
        file = Path(str(resources.files(package))) / _FOLDER / f"{name_or_file}{_SUFFIX}"
    elif name_or_file.endswith(_SUFFIX):
        file = Path(name_or_file)
    else:
        near = difflib.get_close_matches(name_or_file, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ProfileError(
            name_or_file, "", f"is no {kind}.", f"{hint}Known: {', '.join(known)}; or give a file that ends in .toml."
        )
    try:
        values = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ProfileError(name_or_file, "", f"cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(name_or_file, "", f"is not TOML: {error}.") from None
    except ValueError:  # more digits than Python reads
        raise ProfileError(name_or_file, "", "holds a number of too many digits.") from None
    except RecursionError:
        raise ProfileError(name_or_file, "", "is nested too deeply.") from None
    return Table(file, values), file.stem


class Table:
    """One table of a TOML file; every key that is read is taken, :meth:`done` complains about the rest."""

    def __init__(self, file: Path, values: Mapping[str, object], prefix: str = "") -> None:
        self._file = file
        self._values = dict(values)
        self._prefix = prefix
        self._asked: list[str] = []

    def fail(self, key: str, problem: str, hint: str = "") -> NoReturn:
        """Raise a :class:`ProfileError` for ``key`` of this table."""
        raise ProfileError(str(self._file), f"{self._prefix}{key}", problem, hint)

    def has(self, key: str) -> bool:
        """Tell whether the table holds ``key``, without taking it."""
        return key in self._values

    def _take(self, key: str, *kinds: type) -> object:
        self._asked.append(key)
        value = self._values.pop(key, None)
        # in Python True is an int
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            self.fail(key, f"is {_shown(value)}, expected {_NAMES[kinds[-1]]}.")
        return value

    def text(self, key: str) -> str | None:
        """Take a string."""
        value = self._take(key, str)
        return value if isinstance(value, str) else None

    def required_text(self, key: str) -> str:
        """Take a string that must be there."""
        value = self.text(key)
        if not value:
            self.fail(key, "is missing or empty.", "A profile cannot do without it.")
        return value

    def integer(self, key: str) -> int | None:
        """Take a whole number."""
        value = self._take(key, int)
        return value if isinstance(value, int) else None

    def seconds(self, key: str, default: float) -> float:
        """Take a positive number of seconds; it has an end."""
        value = self._take(key, int, float)  # 5 where 5.0 is meant
        if not isinstance(value, int | float):
            return default
        try:
            number = float(value)
        except OverflowError:  # a whole number that is larger than any other
            number = float("inf")
        if not 0 < number < float("inf"):
            self.fail(key, f"is {_shown(value)}, expected a finite number of seconds above 0.")
        return number

    def matching(self, key: str, fact: str, longest: str) -> str | None:
        """Take a text that SageMaker takes; the facts of these ids are its pattern, and the most characters."""
        value = self.text(key)
        allowed = re.compile(facts.text(fact))
        if value is not None and (len(value) > facts.integer(longest) or not allowed.fullmatch(value)):
            self.fail(key, f"is {_shown(value)}, which SageMaker refuses.", facts.get(fact).statement)
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Take a list of strings."""
        values = self._take(key, list)
        if not isinstance(values, list):
            return None
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{key}[{index}]", f"is {_shown(value)}, expected a string.")
        return tuple(value for value in values if isinstance(value, str))

    def keys(self) -> list[str]:
        """Return the keys that have not been taken yet."""
        return list(self._values)

    def scalars(self, key: str) -> tuple[str | float, ...]:
        """Take a list, not empty, of strings and numbers (booleans, nan and inf among them)."""
        values = self._take(key, list)
        if not isinstance(values, list) or not values:
            self.fail(key, f"is {_shown(values)}, expected a list of strings and numbers that is not empty.")
        for index, value in enumerate(values):
            if not isinstance(value, str | int | float):
                self.fail(f"{key}[{index}]", f"is {_shown(value)}, expected a string or a number.")
            self._must_be_json(f"{key}[{index}]", value)
        return tuple(values)

    def members(self, key: str) -> dict[str, object] | None:
        """Take a free table, of what a JSON message can hold."""
        values = self._take(key, dict)
        if not isinstance(values, dict):
            return None
        for name, value in values.items():
            self._must_be_json(f"{key}.{name}", value)
        return values

    def _must_be_json(self, key: str, value: object) -> None:
        try:
            json.dumps(value)
        except TypeError:
            self.fail(
                key, f"is, or holds, what JSON does not know: {_shown(value)}.", "Write a date or a time as a text."
            )
        except (ValueError, RecursionError):
            self.fail(key, f"cannot be put into a message: {_shown(value)}.")

    def table(self, key: str) -> "Table | None":
        """Take a table of known keys."""
        values = self._take(key, dict)
        return None if not isinstance(values, dict) else Table(self._file, values, f"{self._prefix}{key}.")

    def done(self) -> None:
        """Complain about keys that nobody asked for."""
        for key in self._values:
            near = difflib.get_close_matches(key, self._asked, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(self._asked))}."
            self.fail(key, "is not a key of a profile.", hint)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a number of too many digits" if isinstance(value, int) else "nested too deeply"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
