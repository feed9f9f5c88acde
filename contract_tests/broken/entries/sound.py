"""Broken in what is heard: samples, frames, and whether all of the text is spoken."""

from contract_tests.broken.entries.entry import broken

__all__ = ["CONTAINERS"]

CONTAINERS = (
    broken(
        "odd_frames",
        "CT8",
        "Cuts PCM in the middle of a sample. https://github.com/NousResearch/hermes-agent/pull/70851",
        cause="PCM is cut at byte positions",
    ),
    broken(
        "wav_header",
        "CT8",
        "A WAV header before each chunk. https://github.com/inworld-ai/inworld-api-examples/issues/21",
        cause="Each chunk goes through an encoder that makes a file of it",
    ),
    broken(
        "wrong_duration",
        "CT8",
        "Declares a rate that is not the real one. https://github.com/AreevAI/flowcat/issues/10",
        cause="The duration is computed for another sample rate than the audio has",
    ),
    broken(
        "wrapping",
        "CT8",
        "Casts to 16 bit without clipping. https://github.com/festvox/flite/issues/124",
        cause="Samples beyond -1..1 were scaled and cast",
    ),
    broken(
        "byte_shift",
        "CT8",
        "PCM moved by one byte. https://github.com/OHF-Voice/piper1-gpl/issues/253",
        cause="One byte was lost or added",
    ),
    broken(
        "big_endian",
        "CT8",
        "Samples in network byte order. https://github.com/elevenlabs/elevenlabs-python/issues/735",
        cause="The samples are written in the other byte order",
    ),
    broken(
        "realtime_shift",
        "CT8",
        "Audio in base64 moved by one byte. https://github.com/openai/openai-cookbook/pull/2977",
        profile="openai-realtime",
        cause="One byte was lost or added",
    ),
    broken(
        "float_samples",
        "CT8",
        "Floats of 32 bit in the place of PCM16. https://github.com/andimarafioti/faster-qwen3-tts/pull/72",
        cause="The model's float samples are sent as they are",
    ),
    broken(
        "text_duration",
        "CT8",
        "The declared duration is a string. https://github.com/vllm-project/vllm/issues/49068",
        cause="The duration is formatted for people",
    ),
    broken(
        "node/buffer_pool.cjs",
        "CT8",
        "Sends the pool that a Buffer lies in. https://github.com/livekit/agents-js/issues/2068",
        server="ws",
        cause="`.buffer` of a small Node Buffer",
    ),
    broken(
        "one_frame",
        "CT9",
        "The whole clip in one frame. https://github.com/elevenlabs/elevenlabs-python/pull/482",
        cause="The clip of a whole request goes out as one frame",
    ),
    broken(
        "oversize_raises",
        "CT9",
        "Raises on a large message. https://github.com/websockets/ws/issues/1543",
        cause="The message was read to its end",
    ),
    broken(
        "collects",
        "CT10",
        "Collects all audio before the first frame. https://github.com/OpenCSGs/csglite/pull/168",
        cause="All audio is collected",
    ),
    broken(
        "clicks",
        "CT10",
        "The signal jumps where two frames meet. https://github.com/vllm-project/vllm-omni/pull/4706",
        cause="Each chunk is decoded or encoded on its own",
    ),
    broken(
        "truncated_text",
        "CT16",
        "A long text is cut without a word. https://github.com/Lyrcaxis/KokoroSharp/issues/9",
        cause="clamped to what the model takes",
    ),
    broken(
        "long_text_hangs",
        "CT16",
        "A long text is waited for in vain. https://github.com/hexgrad/kokoro/issues/325",
        cause="The model raises in a worker thread",
    ),
    broken(
        "skipped_sentence",
        "CT25",
        "A sentence is lost in the middle of a text. https://github.com/remsky/Kokoro-FastAPI/issues/343",
        cause="A piece of the text is lost where it is cut for the model",
    ),
    broken(
        "swallowed_word",
        "CT25",
        "The first word of each sentence is swallowed. https://github.com/k2-fsa/sherpa-onnx/issues/1777",
        cause="The first sound of each piece is cut",
    ),
    broken(
        "careless_cache",
        "CT25",
        "A cache key that two texts share. https://github.com/mapbox/mapbox-navigation-ios/issues/1391",
        cause="A cache takes two texts for the same",
    ),
)
