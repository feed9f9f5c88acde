"""Which weights to use: a directory or S3 prefix given, /opt/ml/model, the packaged ones, or the hub on wish."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from container.kokoro import voices
from container.kokoro.errors import SetupError
from container.kokoro.files import sha256_of
from container.kokoro.kmodel import REPOSITORY
from container.kokoro.packaged import ONNX_SHA256, packaged_onnx
from container.kokoro.vocabulary import CONFIG, check_vocabulary

SAGEMAKER_DIRECTORY = Path("/opt/ml/model")
"""Where SageMaker unpacks the model data of an endpoint; read-only."""
CHECKPOINT_NAME = "kokoro-v1_0.pth"
CHECKPOINT_SHA256 = "496dba118d1a58f5f3db2efc88dbdc216e0483fc89fe6e47ee1f2c53f18ad1e4"
LAYOUT = f"a .onnx file (engine onnx) or {CHECKPOINT_NAME} (engine torch), and voices/*.bin or voices/*.pt"


@dataclass(frozen=True)
class Weights:
    """One model file with its configuration and voices, and where it comes from."""

    model: Path
    config: Path
    voices: Path
    source: str
    sha256: str

    @property
    def precision(self) -> str:
        """What the numbers went through: "int8", "fp32" or "unknown"."""
        known = {ONNX_SHA256: "int8", CHECKPOINT_SHA256: "fp32"}
        return known.get(self.sha256, "fp32 from int8" if "from-int8" in self.model.name else "unknown precision")

    def __str__(self) -> str:
        return f"{self.model.name} ({self.precision}, sha256 {self.sha256[:12]}, {self.source})"


def resolve(choice: str, engine: str) -> Weights:
    """Find weights for `engine` ("onnx", "torch"). `choice`: "auto", "hub", a directory, s3://. Raises SetupError."""
    if choice == "hub":
        return _from_hub(engine)
    if choice.startswith("s3://"):
        from container.kokoro.s3 import fetch  # noqa: PLC0415  # an extra

        directory = fetch(choice, engine)
        model = model_in(directory, engine)
        assert model is not None  # noqa: S101  # fetch has seen to it
        return _weights(model, directory, choice)
    if choice != "auto":
        directory = Path(choice)
        if not directory.is_dir():
            raise SetupError(f"The weights directory {directory} does not exist. Expected a directory with {LAYOUT}.")
        return _in_directory(directory, engine, "")
    if _is_filled(SAGEMAKER_DIRECTORY):
        advice = " Or leave the model data out of the SageMaker model: then the weights of the image are used."
        return _in_directory(SAGEMAKER_DIRECTORY, engine, advice)
    if engine == "torch":
        from container.kokoro.convert import converted_checkpoint  # noqa: PLC0415  # needs the extra 'torch'

        return _weights(converted_checkpoint(), None, "packaged, converted")
    return _weights(packaged_onnx(), None, "packaged")


def _is_filled(directory: Path) -> bool:
    """Say whether somebody put something there: SageMaker mounts it empty for a model without model data.

    What a file system or a desktop leaves behind by itself is nothing.
    """
    return directory.is_dir() and any(_names(directory))


def _names(directory: Path) -> list[str]:
    names = (f"{path.name}/" if path.is_dir() else path.name for path in directory.iterdir())
    return sorted(name for name in names if not name.startswith(".") and name != "lost+found/")


def _in_directory(directory: Path, engine: str, advice: str) -> Weights:
    model = model_in(directory, engine)
    if model is None:
        names = _names(directory)
        found = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "") or "nothing"
        other = "torch" if engine == "onnx" else "onnx"
        switch = f" For what is there, set KOKORO_ENGINE to {other}." if _models(names, other) else ""
        raise SetupError(
            f"{directory} holds no weights for the engine {engine}. Found: {found}. Expected {LAYOUT}, not in "
            f"a folder below it.{switch}{advice}"
        )
    return _weights(model, directory, str(directory))


def model_in(directory: Path, engine: str) -> Path | None:
    """Return the one model file for `engine` in `directory`, or None. Raises SetupError when there are several."""
    models = [name for name in _models(_names(directory), engine) if (directory / name).is_file()]
    if len(models) > 1:
        raise SetupError(f"{directory} holds several models ({', '.join(models)}). Leave only the one to use.")
    return directory / models[0] if models else None


def _models(names: Iterable[str], engine: str) -> list[str]:
    """Return those of `names` that are models for `engine`."""
    return [name for name in names if (name == CHECKPOINT_NAME if engine == "torch" else name.endswith(".onnx"))]


def _weights(model: Path, directory: Path | None, source: str) -> Weights:
    config = directory / "config.json" if directory else CONFIG
    if config.is_file():
        check_vocabulary(config)
    else:
        config = CONFIG
    return Weights(
        model=model,
        config=config,
        voices=voices.find(directory),
        source=source,
        sha256=sha256_of(model),
    )


def _from_hub(engine: str) -> Weights:
    if engine != "torch":
        raise SetupError("--weights hub has no ONNX file. Use --engine torch, or --weights auto with --engine onnx.")
    try:
        import huggingface_hub  # noqa: PLC0415  # comes with the extra 'torch' only
    except ModuleNotFoundError as error:
        raise SetupError("--weights hub needs huggingface_hub. Install the extra 'torch'.") from error
    try:
        directory = Path(
            huggingface_hub.snapshot_download(
                REPOSITORY,
                revision="f3ff3571791e39611d31c381e3a41a3af07b4987",
                allow_patterns=["config.json", CHECKPOINT_NAME, "voices/*.pt"],
            )
        )
    except (OSError, ValueError) as error:  # its own errors are of these kinds, offline ones too
        raise SetupError(
            f"{REPOSITORY} could not be fetched from the hub: {error}\nUse --weights auto for the packaged ones."
        ) from error
    weights = _weights(directory / CHECKPOINT_NAME, directory, "hub")
    if weights.sha256 != CHECKPOINT_SHA256:
        raise SetupError(f"{weights.model} has SHA-256 {weights.sha256}, expected {CHECKPOINT_SHA256}. Delete it.")
    return weights
