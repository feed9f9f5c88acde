"""A checkpoint into `kokoro.KModel`, whole or not at all. Needs the extra 'torch'.

KModel's own loader takes what fits and leaves the rest at random numbers, which are heard as noise.
"""

import io
import logging
from pathlib import Path
from typing import Any

import torch

from container.kokoro.errors import SetupError
from container.kokoro.kmodel import REPOSITORY, kmodel_class

_log = logging.getLogger(__name__)

_SHOWN = 5


def load(config: Path, path: Path) -> Any:
    """Return the model of `config` with the weights of `path`. Raises SetupError that names what is missing."""
    try:
        nothing = io.BytesIO()
        torch.save({}, nothing)
        nothing.seek(0)
        model = kmodel_class()(repo_id=REPOSITORY, config=str(config), model=nothing)
        missing, foreign = _fill(model, torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # unpickling, shapes: whatever a wrong file leads to
        raise SetupError(f"{path} is no Kokoro checkpoint that torch can load: {error}") from error
    if missing:
        strange = f" What it holds under other names: {_named(foreign)}." if foreign else ""
        raise SetupError(
            f"{path} is incomplete: it has no weights for {_named(missing)}.{strange} Expected is a dictionary of the "
            f"parts of Kokoro-82M ({', '.join(name for name, _ in model.named_children())}), each a state_dict."
        )
    if foreign:
        _log.warning("%s: not used, for the model has no place for it: %s", path, _named(foreign))
    return model


def _fill(model: Any, checkpoint: dict[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Load what fits, and return the names of what is missing and of what is foreign."""
    missing: list[str] = []
    foreign = sorted(set(checkpoint) - {name for name, _ in model.named_children()})
    for name, part in model.named_children():
        # those trained on several GPUs say "module." before each name
        stored = {key.removeprefix("module."): tensor for key, tensor in checkpoint.get(name, {}).items()}
        # kokoro gives its instance norms parameters for the sake of an exporter only: no checkpoint has them
        optional = {
            f"{norm}.{kind}"
            for norm, module in part.named_modules()
            if isinstance(module, torch.nn.InstanceNorm1d)
            for kind in ("weight", "bias")
        }
        found = part.load_state_dict(stored, strict=False)
        missing += [f"{name}.{key}" for key in found.missing_keys if key not in optional and not _is_unused(key)]
        foreign += [f"{name}.{key}" for key in found.unexpected_keys if not _is_unused(key)]
    return missing, foreign


def _is_unused(key: str) -> bool:
    """Say whether speech never uses it: ALBERT's pooler, and tables that some versions of transformers keep."""
    return key.startswith("pooler.") or key.endswith(("position_ids", "token_type_ids"))


def _named(keys: list[str]) -> str:
    return ", ".join(keys[:_SHOWN]) + (f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")
