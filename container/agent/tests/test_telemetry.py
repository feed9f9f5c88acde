"""Traces: the turn as a span above those of Strands."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from container.agent import telemetry
from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import agent, idle, invoke, served
from container.agent.tests.voices import Refuses, Voice
from emulator.agentcore.start import agent_container
from emulator.bedrock.script import Script, Turn
from emulator.tests.containers import container

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span


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


class Collector:
    """Takes spans over OTLP, as protobuf over HTTP."""

    def __init__(self) -> None:
        self.app = Starlette(routes=[Route("/v1/traces", self._take, methods=["POST"])])
        self.spans: dict[str, Span] = {}
        self._came = asyncio.Condition()

    async def _take(self, request: Request) -> Response:
        message = ExportTraceServiceRequest.FromString(await request.body())
        async with self._came:
            for resource in message.resource_spans:
                for scope in resource.scope_spans:
                    self.spans |= {span.name: span for span in scope.spans}
            self._came.notify_all()
        return Response(media_type="application/x-protobuf")

    async def lacks(self, names: set[str]) -> set[str]:
        """Wait for spans of these names; return the names of those that do not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(30), self._came:
                await self._came.wait_for(lambda: names <= set(self.spans))
        return names - set(self.spans)


async def test_the_spans_of_a_turn_arrive_at_the_collector_that_the_environment_names(in_front: InFront) -> None:
    collector = Collector()
    below = {"first_text", "first_sentence", "first_audio"}
    # a process of its own, as it is started: this one has a tracer provider already
    async with asyncio.timeout(120), served(collector.app) as url, container(Voice()) as target:
        in_front(target.url).play_bedrock(Script((Turn("Hello there. How are you?", first_token=0),)))
        environment = {
            "SPEECH_ENDPOINT": "voice",
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",  # ms
        }
        async with agent_container("agent", environment) as base:
            async with httpx.AsyncClient(base_url=base, timeout=60) as client:
                done = (await invoke(client))[-1]
            assert done["type"] == "done", done
            assert await collector.lacks({"speak", *below}) == set()
    speak = collector.spans["speak"]
    for name in below:
        span = collector.spans[name]
        assert (span.trace_id, span.parent_span_id) == (speak.trace_id, speak.span_id)
        assert (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6 >= done[f"{name}_ms"] - 1
