"""Traces: the turn as a span above those of Strands."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from container.agent import telemetry
from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import agent, idle, invoke
from container.agent.tests.voices import Refuses, Voice


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """One for all tests: a process can set its provider only once."""
    made = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(made))
    return made


@pytest.fixture(autouse=True)
def _clean(exporter: InMemorySpanExporter) -> Iterator[None]:
    exporter.clear()
    yield
    exporter.clear()


def named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return found


async def test_a_turn_is_a_span_with_its_first_times_and_strands_below_it(
    in_front: InFront, exporter: InMemorySpanExporter
) -> None:
    async with agent(Voice(), ScriptedModel(["Hello there.", " How are you?"]), in_front) as client:
        done = (await invoke(client))[-1]
        await idle(client)
    span = named(exporter, "speak")
    assert span.attributes is not None
    assert span.context is not None
    assert span.start_time is not None
    for name in ("first_text", "first_sentence", "first_audio"):
        assert span.attributes[f"speech.{name}_ms"] == done[f"{name}_ms"]
        assert name in [event.name for event in span.events]
        first = named(exporter, name)
        assert first.parent is not None
        assert first.parent.span_id == span.context.span_id
        assert first.start_time is not None
        assert first.end_time is not None
        assert (first.end_time - first.start_time) / 1e6 >= done[f"{name}_ms"] - 1  # agent_start is a moment later
    assert span.attributes["speech.mode"] == "bidi"
    below = [
        one.name for one in exporter.get_finished_spans() if one.parent and one.parent.span_id == span.context.span_id
    ]
    assert any(name.startswith("invoke_agent") for name in below), below


async def test_a_turn_that_fails_is_a_span_with_an_error(in_front: InFront, exporter: InMemorySpanExporter) -> None:
    async with agent(Refuses(), ScriptedModel(["Hello there."]), in_front) as client:
        error = (await invoke(client))[-1]
        await idle(client)
    span = named(exporter, "speak")
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description == error["message"]


def test_nothing_is_exported_without_a_collector() -> None:
    assert telemetry.set_up({}) is False
