"""A voice for people who have none: it hums as long as the text would take, each voice at a pitch of its own."""

import array
import math
import re

RATE = 24000
PERIODS = (160, 130, 107, 91)
VOICES = ("af_heart", "af_bella", "am_michael", "am_adam")


def hum(text: str, voice: str) -> "array.array[int]":
    """Return samples of 16 bit: one swing again and again, with a soft beginning and a soft end."""
    if not any(letter.isalnum() for letter in text):
        return array.array("h")
    swing = PERIODS[VOICES.index(voice)]
    count = int(max(0.3, 0.02 * len(text)) * RATE)
    tone = array.array("h", (int(9000 * math.sin(2 * math.pi * at / swing)) for at in range(swing)))
    samples = (tone * (count // swing + 1))[:count]
    fade = RATE // 50
    for at in range(fade):
        samples[at] = samples[at] * at // fade
        samples[-1 - at] = samples[-1 - at] * at // fade
    return samples


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part for part in re.split(r"(?<=[.!?])\s+", text) if part] or [text]


def complaint(order: object) -> str | None:
    """Return what is wrong with an order to speak."""
    if not isinstance(order, dict):
        return "that is no order"
    if not isinstance(order.get("text"), str) or "type" in order:
        return "an order has a text and no type"
    if order.get("voice", VOICES[0]) not in VOICES:
        return f"voice is one of {VOICES}"
    speed = order.get("speed", 1)
    if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0.5 <= speed <= 2:
        return "speed is 0.5 to 2"
    return None
