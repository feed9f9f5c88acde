"""The signed graph computes what the export computes, to the bit, and is used only where that is so."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from container.kokoro import signed
from container.kokoro.onnx_engine import OnnxEngine
from container.kokoro.phonemes import Phonemizer
from container.kokoro.weights import Weights

TEXTS = {"af_heart": "Hello there.", "am_michael": "The quick brown fox jumps over the lazy dog, and then it sleeps."}


def test_on_a_processor_with_vnni_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOKORO_SIGNED", raising=False)
    info = tmp_path / "cpuinfo"
    for flags, wanted in (("fpu avx2 avx512f", False), ("fpu avx512_vnni", True), ("avx2 avx_vnni", True)):
        info.write_text(f"processor\t: 0\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
        assert signed.is_wanted(info) is wanted
    info.write_text("processor\t: 0\nFeatures\t: asimd\n")  # an ARM processor
    assert not signed.is_wanted(info)
    assert not signed.is_wanted(tmp_path / "none")
    info.write_text("flags: avx512_vnni\n")
    monkeypatch.setenv("KOKORO_SIGNED", "off")
    assert not signed.is_wanted(info)


def test_a_model_without_integers_stays_as_it_is(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [1])], [value("y", TensorProto.FLOAT, [1])])
    onnx.save(helper.make_model(graph), str(tmp_path / "float.onnx"))
    assert signed.rewritten(tmp_path / "float.onnx") is None


def test_every_convolution_is_rewritten(weights: Weights) -> None:
    data = signed.rewritten(weights.model)
    assert data is not None
    graph = onnx.load_from_string(data).graph
    quantised = {node.output[0] for node in graph.node if node.op_type == "QuantizeLinear"}
    convolutions = [node for node in graph.node if node.op_type == "ConvInteger"]
    assert len(convolutions) == 87
    assert all(node.input[0] in quantised for node in convolutions)


@pytest.mark.skipif(not signed.is_wanted(), reason="this processor has no VNNI")
def test_the_audio_is_the_same_to_the_bit(
    weights: Weights, phonemizer: Phonemizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKORO_THREADS", "1")
    engines = []
    for setting in ("on", "off"):
        monkeypatch.setenv("KOKORO_SIGNED", setting)
        engines.append(OnnxEngine(weights))
    assert [", signed" in engine.description for engine in engines] == [True, False]
    for voice, text in TEXTS.items():
        [run] = phonemizer.read(text).runs
        one, other = (engine.synthesise(run, voice, 1.0) for engine in engines)
        np.testing.assert_array_equal(one, other)
