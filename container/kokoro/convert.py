"""The packaged int8 ONNX export turned back into a torch checkpoint, so that both engines run without a model hub.

The export keeps most names; each kind of node below knows how its weights got where they are. Needs the extra 'torch'.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from container.kokoro.errors import SetupError
from container.kokoro.files import cache_directory, locked_cache, sha256_of
from container.kokoro.kmodel import REPOSITORY, kmodel_class
from container.kokoro.packaged import ONNX_SHA256, packaged_onnx
from container.kokoro.vocabulary import CONFIG

Array = npt.NDArray[np.float32]

_RENAMED = (
    ("encoder.predictor.", "predictor."),
    ("encoder.bert", "bert"),
    ("encoder.text_encoder.", "text_encoder."),
    ("decoder.decoder.", "decoder."),
)
_PREDICTOR_PARTS = frozenset({"F0.0", "F0.1", "F0.2", "N.0", "N.1", "N.2", "shared", "F0_proj", "N_proj"})
_WITHOUT_WEIGHT_NORM = ("F0_proj", "N_proj", "noise_convs")
_ALBERT = "bert.encoder.albert_layer_groups.0.albert_layers.0."


def converted_checkpoint() -> Path:
    """Return the converted checkpoint in the cache, made there on first use (10 s). Raises SetupError."""
    name = f"kokoro-v1_0.from-int8-{ONNX_SHA256[:12]}.pth"
    path = cache_directory() / name
    if _is_intact(path):
        return path
    source = packaged_onnx()
    with locked_cache() as cache:
        if not _is_intact(path):
            _convert(source, path, cache)
    return path


def _checksum_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _is_intact(path: Path) -> bool:
    checksum = _checksum_file(path)
    return path.is_file() and checksum.is_file() and checksum.read_text(encoding="ascii").strip() == sha256_of(path)


def _convert(source: Path, target: Path, cache: Path) -> None:
    try:
        import onnx  # noqa: PLC0415  # an extra
        import torch  # noqa: PLC0415  # an extra

        kmodel = kmodel_class()
    except ModuleNotFoundError as error:
        raise SetupError(
            f"Converting the packaged weights needs the package {error.name}. Install the extra 'torch'."
        ) from error
    parameters = Parameters(onnx.load(str(source))).read()
    with tempfile.TemporaryDirectory(prefix=".convert.", dir=cache) as scratch:
        empty = Path(scratch, "empty.pth")
        torch.save({}, empty)
        # a model without weights knows every name and shape there must be
        wanted = kmodel(repo_id=REPOSITORY, config=str(CONFIG), model=str(empty)).state_dict()
        checkpoint: dict[str, dict[str, Any]] = {}
        for key, initial in wanted.items():
            part, rest = key.split(".", 1)
            if key in parameters:
                found = torch.from_numpy(parameters.pop(key))
                if found.shape != initial.shape:
                    shapes = f"{tuple(found.shape)}, expected {tuple(initial.shape)}"
                    raise SetupError(f"{source}: {key} has shape {shapes}.")
            elif key.endswith(("norm.weight", "norm.bias", "position_ids", "token_type_ids")) or "pooler" in key:
                found = initial.clone()  # identities that the export folded away, and parts that speech never uses
            else:
                raise SetupError(f"{source} has no weights for {key}: not the export this was written for.")
            checkpoint.setdefault(part, {})[rest] = found
        if parameters:
            raise SetupError(f"{source} has weights that Kokoro has no place for: {sorted(parameters)[:5]}")
        finished = Path(scratch, "checkpoint.pth")
        torch.save(checkpoint, finished)
        checksum = sha256_of(finished)
        finished.replace(target)
        _checksum_file(target).write_text(checksum + "\n", encoding="ascii")


class Parameters:
    """Collects the torch parameters of one ONNX graph, under torch's names."""

    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper  # noqa: PLC0415  # an extra

        self._nodes = list(model.graph.node)
        self._stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self._found: dict[str, Array] = {}

    def read(self) -> dict[str, Array]:
        """Return name to float32 array, weight-normalised ones as pairs `weight_g`, `weight_v`."""
        readers = {
            "ConvInteger": self._quantised_convolution,
            "Conv": self._plain_convolution,
            "ConvTranspose": self._plain_convolution,
            "MatMulInteger": self._quantised_matrix,
            "MatMul": self._plain_matrix,
            "DynamicQuantizeLSTM": self._lstm,
            "DequantizeLinear": self._embedding,
        }
        for node in self._nodes:
            if reader := readers.get(node.op_type):
                reader(node)
        self._named()
        return self._found

    def _put(self, name: str, array: npt.NDArray[Any]) -> None:
        self._found[name] = np.ascontiguousarray(array, dtype=np.float32)

    def _put_weight_norm(self, module: str, weight: Array) -> None:
        """Split into length g and direction v of each row; where int8 left only zeros, any v will do but 0/0."""
        norm = np.sqrt((weight.reshape(len(weight), -1) ** 2).sum(axis=1)).reshape(-1, *[1] * (weight.ndim - 1))
        self._put(f"{module}.weight_g", norm)
        self._put(f"{module}.weight_v", np.where(norm == 0, np.float32(1), weight))

    def _dequantised(self, name: str, scale: str, zero_point: str, axis: int | None = None) -> Array:
        numbers = self._stored[name].astype(np.float32)
        factor = np.asarray(self._stored[scale], dtype=np.float32)
        zero = np.asarray(self._stored[zero_point] if zero_point else 0, dtype=np.float32)
        if factor.ndim and axis is not None:
            shape = [1] * numbers.ndim
            shape[axis] = -1
            factor, zero = factor.reshape(shape), zero.reshape(shape) if zero.ndim else zero
        return np.asarray((numbers - zero) * factor, dtype=np.float32)

    def _quantised_convolution(self, node: Any) -> None:
        module, name = module_of(node.name), node.input[1]
        zero_point = node.input[3] if len(node.input) > 3 else ""
        weight = self._dequantised(name, name.replace("_quantized", "_scale"), zero_point)
        if any(part in module for part in _WITHOUT_WEIGHT_NORM):
            self._put(f"{module}.weight", weight)
        else:
            self._put_weight_norm(module, weight)

    def _plain_convolution(self, node: Any) -> None:
        if "istft" not in node.name:  # the inverse Fourier transform is no parameter
            self._put_weight_norm(module_of(node.name), self._stored[node.input[1]])

    def _quantised_matrix(self, node: Any) -> None:
        name = node.input[1]
        if name not in self._stored:
            return  # a product of two activations
        if "albert_layers.0" in node.name:
            # one shared layer is unrolled twelve times: query, query_1, ... are the same weights
            leaf = node.name.strip("/").split("/")[-2]
            stem, _, number = leaf.rpartition("_")
            leaf = stem if number.isdigit() else leaf
            module = _ALBERT + ("attention." if leaf in ("query", "key", "value", "dense") else "") + leaf
        elif name.endswith(".fc.weight_quantized"):
            module = _renamed(name.removesuffix(".weight_quantized")) or name
        else:
            module = module_of(node.name)
        if f"{module}.weight" not in self._found:
            zero_point = node.input[3] if len(node.input) > 3 else ""
            weight = self._dequantised(name, name.replace("_quantized", "_scale"), zero_point, axis=-1)
            self._put(f"{module}.weight", weight.T)

    def _plain_matrix(self, node: Any) -> None:
        if "l_linear" in node.name:
            self._put("decoder.generator.m_source.l_linear.weight", self._stored[node.input[1]].T)

    def _lstm(self, node: Any) -> None:
        module = module_of(node.name)
        inputs = self._dequantised(node.input[1], node.input[8], node.input[9], 0)
        hidden = self._dequantised(node.input[2], node.input[10], node.input[11], 0)
        biases = self._stored[node.input[3]]
        size = 4 * hidden.shape[1]
        for direction, suffix in ((0, ""), (1, "_reverse")):
            self._put(f"{module}.weight_ih_l0{suffix}", _torch_gates(inputs[direction].T))
            self._put(f"{module}.weight_hh_l0{suffix}", _torch_gates(hidden[direction].T))
            self._put(f"{module}.bias_ih_l0{suffix}", _torch_gates(biases[direction][:size]))
            self._put(f"{module}.bias_hh_l0{suffix}", _torch_gates(biases[direction][size:]))

    def _embedding(self, node: Any) -> None:
        if "Gather_quant" in node.name:
            base = node.input[1].removesuffix(".weight_scale")
            weight = self._dequantised(f"{base}.weight_quantized", node.input[1], node.input[2])
            self._put(base.replace("encoder.", "", 1) + ".weight", weight)

    def _named(self) -> None:
        """Take the float tensors that kept their torch names: biases, layer norms, alphas."""
        for name, array in self._stored.items():
            if array.dtype == np.float32 and not name.endswith(("_scale", "_quantized")) and "istft" not in name:
                renamed = _renamed(name)
                if renamed is not None:
                    self._put(renamed, array)


def _renamed(name: str) -> str | None:
    for prefix, new in _RENAMED:
        if name.startswith(prefix):
            return new + name[len(prefix) :]
    return None


def _torch_gates(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Reorder LSTM gates: ONNX stacks input, output, forget, cell; torch input, forget, cell, output."""
    gate_in, gate_out, forget, cell = np.split(array, 4, axis=0)
    return np.concatenate([gate_in, forget, cell, gate_out], axis=0)


def module_of(node_name: str) -> str:
    """Return the torch module that an ONNX node's scope stands for."""
    parts = node_name.strip("/").split("/")[:-1]
    if parts[0] in ("decoder", "encoder"):  # the export's own wrappers
        parts = parts[1:]
    if parts and parts[0] in _PREDICTOR_PARTS:
        parts = ["predictor", *parts]
    path: list[str] = []
    for part in parts:
        # "cnn.0/cnn.0.0" is one module named twice
        if path and part.startswith(path[-1] + "."):
            path[-1] = part
        else:
            path.append(part)
    return ".".join(path)
