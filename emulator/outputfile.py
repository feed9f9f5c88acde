"""The file that a result goes to: whether it can be written is known before the run, not behind it."""

import argparse
import os
from pathlib import Path

__all__ = ["output_file", "output_problem"]


def output_file(given: str) -> Path:
    """Read an option of argparse that names a file to write.

    Raises:
        ArgumentTypeError: it could not be written; argparse says so and ends the program.
    """
    path = Path(given)
    if (problem := output_problem(path)) is not None:
        raise argparse.ArgumentTypeError(problem)
    return path


def output_problem(path: Path | None) -> str | None:
    """Return why a result cannot be written there, None if it can, or if none is wanted."""
    if path is None:
        return None
    folder = path.absolute().parent
    try:
        if not folder.is_dir():
            return f"{path}: the directory {folder} does not exist"
        if path.is_dir():
            return f"{path}: that is a directory, expected the name of a file"
        if not os.access(path if path.exists() else folder, os.W_OK):
            return f"{path}: it may not be written"
    except OSError as error:  # a name that is too long
        return f"{path}: {error.strerror or error}"
    return None
