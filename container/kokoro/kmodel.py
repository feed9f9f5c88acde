"""`kokoro.KModel` without the rest of its package. Needs the extra 'torch'.

Importing `kokoro` itself would also load its pipeline, and with it espeak-ng (GPL-3), which nothing here uses;
it would take seconds more and replace the process's log handlers.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

REPOSITORY = "hexgrad/Kokoro-82M"


def kmodel_class() -> Any:
    """Return the class. Raises ModuleNotFoundError with the name of what is missing."""
    if "kokoro" not in sys.modules:
        spec = importlib.util.find_spec("kokoro")
        if spec is None or spec.submodule_search_locations is None:
            raise ModuleNotFoundError("No module named 'kokoro'", name="kokoro")
        package = ModuleType("kokoro")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["kokoro"] = package
    model = importlib.import_module("kokoro.model")
    importlib.import_module("loguru").logger.disable("kokoro")  # it would print every text it speaks
    return model.KModel
