"""Kokoro's forward pass for several texts at once, each of which sounds as if it were alone. Needs the extra 'torch'.

`kokoro.KModel` takes one text: its duration and pitch LSTMs run on through padding, its instance norms take mean and
variance over time, padding included, and its last layers see what lies beyond the end. Here the LSTMs are packed, the
norms count each text's own frames, and before every convolution what lies beyond a text's end is zero, which is what
the convolution itself pads with. The parameters are the model's own.
"""

from collections.abc import Sequence
from typing import Any

import torch

_leaky_relu = torch.nn.functional.leaky_relu
_rnn = torch.nn.utils.rnn
_EPSILON = 1e-5


class Lengths:
    """How long each text of a batch is at one place in the model: `counts`, and as a mask `keep` (b, 1, longest)."""

    def __init__(self, counts: Sequence[int], device: Any) -> None:
        self.counts = list(counts)
        self.longest = max(counts)
        self.is_even = min(counts) == self.longest
        self._device = device
        self.sizes = torch.tensor(self.counts, device=device)
        steps = torch.arange(self.longest, device=device)
        self.keep = (steps < self.sizes[:, None])[:, None, :].float()

    def times(self, factor: int, more: int = 0) -> "Lengths":
        """Return the lengths after an upsampling."""
        return Lengths([count * factor + more for count in self.counts], self._device)

    def cut(self, x: Any) -> Any:
        """Set what lies beyond each text's end in `x` (b, channels, longest) to zero."""
        return x if self.is_even else x * self.keep


def speak(model: Any, texts: Sequence[Sequence[int]], styles: Any, speeds: Sequence[float]) -> list[Any]:
    """Return the audio (samples,) of each text: token ids without the ends, `styles` (b, 256)."""
    device = model.device
    tokens = _rnn.pad_sequence([torch.tensor([0, *text, 0]) for text in texts], batch_first=True).to(device)
    letters = Lengths([len(text) + 2 for text in texts], device)
    beyond = letters.keep[:, 0] == 0
    styles = styles.to(device)
    voice, manner = styles[:, :128], styles[:, 128:]
    known = model.bert(tokens, attention_mask=(~beyond).int())
    encoded = model.bert_encoder(known).transpose(-1, -2)
    prosody = model.predictor.text_encoder(encoded, manner, letters.sizes, beyond)
    durations = model.predictor.duration_proj(_lstm(model.predictor.lstm, prosody, letters))
    durations = torch.sigmoid(durations).sum(dim=-1) / torch.tensor(speeds, device=device)[:, None]
    durations = torch.round(durations).clamp(min=1).long().masked_fill(beyond, 0)
    frames = Lengths(durations.sum(dim=1).tolist(), device)
    spread = _rnn.pad_sequence(
        [torch.arange(len(row), device=device).repeat_interleave(row) for row in durations], True
    )
    pitch, loudness = _prosody(model.predictor, _spread(prosody.transpose(-1, -2), spread, frames), manner, frames)
    sounds = _spread(model.text_encoder(tokens, letters.sizes, beyond), spread, frames)
    return _decode(model.decoder, sounds, pitch, loudness, voice, frames)


def _spread(x: Any, spread: Any, frames: Lengths) -> Any:
    """Repeat each letter of `x` (b, channels, letters) for as many frames as it lasts."""
    return frames.cut(x.gather(2, spread[:, None, :].expand(-1, x.shape[1], -1)))


def _lstm(lstm: Any, x: Any, lengths: Lengths) -> Any:
    """Run `x` (b, steps, channels) through both directions, each text from its own end."""
    if lengths.is_even:
        return lstm(x)[0]
    packed = _rnn.pack_padded_sequence(x, torch.tensor(lengths.counts), batch_first=True, enforce_sorted=False)
    return _rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)[0]


def _norm(norm: Any, x: Any, style: Any, lengths: Lengths) -> Any:
    """Adaptive instance norm over each text's own steps; zero beyond them."""
    if lengths.is_even:
        return norm(x, style)
    count = lengths.sizes[:, None, None]
    centred = (x - (x * lengths.keep).sum(dim=-1, keepdim=True) / count) * lengths.keep
    scale = torch.rsqrt(centred.square().sum(dim=-1, keepdim=True) / count + _EPSILON) * norm.norm.weight[:, None]
    gain, shift = norm.fc(style)[..., None].chunk(2, dim=1)
    return (centred * (scale * (1 + gain)) + (norm.norm.bias[:, None] * (1 + gain) + shift)) * lengths.keep


def _residual(block: Any, x: Any, style: Any, lengths: Lengths) -> Any:
    """Run `kokoro`'s AdainResBlk1d, which may double the steps."""
    doubles = block.upsample_type != "none"
    y = block.actv(_norm(block.norm1, x, style, lengths))
    if doubles:
        lengths = lengths.times(2)
        y = lengths.cut(block.pool(y))
    y = block.conv1(y)
    y = block.conv2(block.actv(_norm(block.norm2, y, style, lengths)))
    x = block.upsample(x)
    return (y + (block.conv1x1(x) if block.learned_sc else x)) * 2**-0.5


def _snakes(block: Any, x: Any, style: Any, lengths: Lengths) -> Any:
    """Run `kokoro`'s AdaINResBlock1."""
    steps = zip(block.convs1, block.convs2, block.adain1, block.adain2, block.alpha1, block.alpha2, strict=True)
    for first, second, norm1, norm2, alpha1, alpha2 in steps:
        y = first(_snake(_norm(norm1, x, style, lengths), alpha1))
        x = x + second(_snake(_norm(norm2, y, style, lengths), alpha2))
    return x


def _snake(x: Any, alpha: Any) -> Any:
    return x + torch.sin(alpha * x).square() / alpha


def _prosody(predictor: Any, x: Any, style: Any, frames: Lengths) -> tuple[Any, Any]:
    """Return pitch and loudness (b, twice the frames)."""
    shared = frames.cut(_lstm(predictor.shared, x.transpose(-1, -2), frames).transpose(-1, -2))
    found = []
    for blocks, projection in ((predictor.F0, predictor.F0_proj), (predictor.N, predictor.N_proj)):
        y, lengths = shared, frames
        for block in blocks:
            y = _residual(block, y, style, lengths)
            lengths = lengths.times(2) if block.upsample_type != "none" else lengths
        found.append(lengths.cut(projection(y)).squeeze(1))
    return found[0], found[1]


def _decode(decoder: Any, sounds: Any, pitch: Any, loudness: Any, style: Any, frames: Lengths) -> list[Any]:
    curves = [frames.cut(decoder.F0_conv(pitch[:, None])), frames.cut(decoder.N_conv(loudness[:, None]))]
    x = _residual(decoder.encode, torch.cat([sounds, *curves], dim=1), style, frames)
    again = decoder.asr_res(sounds)
    for block in decoder.decode:
        x = _residual(block, torch.cat([x, again, *curves], dim=1), style, frames)
    return _generate(decoder.generator, x, style, pitch, frames.times(2))


def _generate(generator: Any, x: Any, style: Any, pitch: Any, lengths: Lengths) -> list[Any]:
    scale = int(generator.f0_upsamp.scale_factor)
    samples = lengths.times(scale)
    source, _, _ = generator.m_source(generator.f0_upsamp(pitch[:, None]).transpose(1, 2))
    hop = generator.stft.hop_length
    windows = Lengths([count // hop + 1 for count in samples.counts], pitch.device)
    spectrum, phase = generator.stft.transform(_mirrored(source.squeeze(-1), samples))
    harmonics = windows.cut(torch.cat([spectrum, phase], dim=1))
    last = generator.num_upsamples - 1
    for number, up in enumerate(generator.ups):
        x = lengths.cut(_leaky_relu(x, negative_slope=0.1))
        lengths = lengths.times(up.stride[0], int(number == last))
        x = up(x)
        if number == last:
            x = generator.reflection_pad(x)
        x = x + _snakes(generator.noise_res[number], generator.noise_convs[number](harmonics), style, lengths)
        blocks = generator.resblocks[number * generator.num_kernels : (number + 1) * generator.num_kernels]
        x = torch.stack([_snakes(block, x, style, lengths) for block in blocks]).mean(dim=0)
    x = generator.conv_post(lengths.cut(_leaky_relu(x)))
    bins = generator.post_n_fft // 2 + 1
    spectrum, phase = torch.exp(x[:, :bins]), torch.sin(x[:, bins:])
    return [
        generator.stft.inverse(spectrum[row : row + 1, :, :count], phase[row : row + 1, :, :count]).reshape(-1)
        for row, count in enumerate(lengths.counts)
    ]


def _mirrored(source: Any, samples: Lengths) -> Any:
    """Continue each text's source beyond its end with its mirror image, as the transform does at the batch's end."""
    if samples.is_even:
        return source
    steps = torch.arange(samples.longest, device=source.device)
    ends = samples.sizes[:, None]
    return source.gather(1, torch.where(steps < ends, steps, (2 * ends - 2 - steps).clamp(min=0)))
