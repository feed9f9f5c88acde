from itertools import count

from container.agent.timeline import Timeline


def test_time_is_counted_from_the_first_event_even_while_it_is_made() -> None:
    ticks = count(5)
    timeline = Timeline("r", clock=lambda: next(ticks))
    events = [timeline.event("agent_start"), timeline.event("text", text="Hello."), timeline.event("done")]
    assert [(event["seq"], event["t_ms"]) for event in events] == [(0, 0), (1, 1000), (2, 2000)]
