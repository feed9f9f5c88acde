"""Kokoro on ONNX Runtime, CPU."""

import os

import numpy as np

# its Linux builds report models and runs to their maker, and keep an identifier in the home directory. Read at import
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

from container.kokoro import signed, voices
from container.kokoro.engine import switch, threads, whole_number
from container.kokoro.errors import SetupError, SynthesisError
from container.kokoro.pcm import Samples
from container.kokoro.vocabulary import tokens
from container.kokoro.weights import Weights

MOST_TOGETHER = 4


class OnnxEngine:
    """One session; about 0.25 times real time on two cores.

    Many of its operations use one core only, so several runs side by side get more out of all cores than each one
    after the other; a run that is alone has all of them.
    """

    def __init__(self, weights: Weights) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.inter_op_num_threads = 1
        # threads that wait in a loop for the next operation take a quarter of the cores from everything else here
        spin = switch("KOKORO_SPIN", default=False)
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spin)))
        options.log_severity_level = 3  # the export makes it warn about shapes on every start
        self.together = whole_number("KOKORO_BATCH", min(len(os.sched_getaffinity(0)), MOST_TOGETHER), 64)
        wanted = signed.is_wanted()
        try:
            model = signed.rewritten(weights.model) if wanted else None
            self._session = onnxruntime.InferenceSession(
                model or str(weights.model), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exception classes are private
            raise SetupError(f"{weights.model} is no model that ONNX Runtime can load: {error}") from error
        names = {item.name for item in self._session.get_inputs()}
        if names != {"tokens", "style", "speed"}:
            raise SetupError(f"{weights.model} has the inputs {sorted(names)}, expected tokens, style and speed.")
        self._voices = voices.load(weights.voices)
        self.voice_names = self._voices.names
        how = f"{options.intra_op_num_threads} threads, {self.together} at once{', signed' if model else ''}"
        self.description = f"onnx, {how}, {weights}"

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        """Speak one run of phonemes. Raises SynthesisError."""
        inputs = {
            "tokens": np.array([tokens(phonemes)], dtype=np.int64),
            "style": self._voices.style(voice, len(phonemes)),
            "speed": np.array([speed], dtype=np.float32),
        }
        try:
            audio = self._session.run(None, inputs)[0]
        except Exception as error:  # its exception classes are private
            raise SynthesisError(f"ONNX Runtime failed on {len(phonemes)} phonemes: {error}") from error
        return np.asarray(audio, dtype=np.float32).reshape(-1)
