"""The int8 export, with activations as signed numbers: the same integers, multiplied twice as fast.

ONNX Runtime's kernels for processors with VNNI take one unsigned and one signed operand. The export has two unsigned
ones in its convolutions, where most of the time goes, and so gets the kernels of older processors. Activations less 128
with a zero point less 128 have the same products and sums, to the bit. Without VNNI the mixed kernels saturate: there
the graph stays as it is.
"""

from pathlib import Path
from typing import Any

from container.kokoro.engine import switch

CPU_INFO = Path("/proc/cpuinfo")
FLAGS = frozenset({"avx512_vnni", "avx_vnni"})
_SHIFT = "kokoro_signed_shift"


def is_wanted(cpu_info: Path = CPU_INFO) -> bool:
    """Say whether this processor gains by it; KOKORO_SIGNED=off says no for it."""
    if not switch("KOKORO_SIGNED", default=True):
        return False
    try:
        lines = cpu_info.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return not FLAGS.isdisjoint(flags)


def rewritten(model: Path) -> bytes | None:
    """Return the model with signed activations, or None where it has no convolution to rewrite, or onnx is missing.

    Raises whatever a file that is no model makes the package onnx raise.
    """
    try:
        import onnx  # noqa: PLC0415  # only for this
    except ModuleNotFoundError:
        return None
    proto = onnx.load(str(model))
    if not _rewrite(proto.graph, onnx):
        return None
    return bytes(proto.SerializeToString())


def _rewrite(graph: Any, onnx: Any) -> int:
    """Change `graph` and return how many convolutions were changed."""
    helper, kinds = onnx.helper, onnx.TensorProto
    unsigned = {tensor.name for tensor in graph.initializer if tensor.data_type == kinds.UINT8}
    quantisers = {node.output[0]: node for node in graph.node if node.op_type == "DynamicQuantizeLinear"}
    done: set[str] = set()
    nodes: list[Any] = []
    changed = 0
    for node in graph.node:
        if node.op_type == "ConvInteger" and node.input[0] in quantisers and node.input[1] in unsigned:
            quantised = node.input[0]
            if quantised not in done:
                nodes += _signed(quantisers[quantised], helper, kinds)
                done.add(quantised)
            node.input[0], node.input[2] = f"{quantised}_signed", f"{quantised}_signed_zero"
            changed += 1
        nodes.append(node)
    if changed:
        graph.initializer.append(helper.make_tensor(_SHIFT, kinds.INT32, (), [128]))
        del graph.node[:]
        graph.node.extend(nodes)
    return changed


def _signed(quantiser: Any, helper: Any, kinds: Any) -> list[Any]:
    """Return the nodes that quantise the same numbers with the same scale to signed ones."""
    number = quantiser.input[0]
    name, scale, zero = quantiser.output
    wide, shifted, signed_zero = f"{name}_wide", f"{name}_shifted", f"{name}_signed_zero"
    return [
        helper.make_node("Cast", [zero], [wide], to=kinds.INT32),
        helper.make_node("Sub", [wide, _SHIFT], [shifted]),
        helper.make_node("Cast", [shifted], [signed_zero], to=kinds.INT8),
        helper.make_node("QuantizeLinear", [number, scale, signed_zero], [f"{name}_signed"]),
    ]
