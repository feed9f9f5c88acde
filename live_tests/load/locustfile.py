"""A Locust user that speaks with an endpoint over the bidirectional API, through the official SDK.

::

    uv run --extra load locust -f live_tests/load/locustfile.py --headless -u 20 -r 2 -t 5m \
        --endpoint NAME --region REGION

``--processes N`` uses N worker processes on this machine; ``--master`` and ``--worker`` use many machines.
"""

import random
from typing import Any

import gevent  # type: ignore[import-untyped]
import psutil  # type: ignore[import-untyped]  # Locust brings it
from gevent.event import Event  # type: ignore[import-untyped]
from locust import User, between, events, task
from locust.runners import MasterRunner, WorkerRunner

from live_tests.budget import standing_cost
from live_tests.cloud import UnreachableError, connected
from live_tests.description import describe
from live_tests.load.report import FAILED, TURN, Series, lines, rows
from live_tests.load.turn import Heard
from live_tests.load.worker import TalkerGoneError, Talking
from live_tests.settings import NotConfiguredError, Settings, SettingsError, settings
from live_tests.speed import SENTENCES

__all__ = ["SpeechUser"]

_KIND = "bidi"
_TURNS_A_SESSION = 20
_begun = Event()
"""Set when there is a process that speaks: a master may have a worker's users started while that is still beginning."""


@events.init_command_line_parser.add_listener
def _options(parser: Any) -> None:
    parser.add_argument("--endpoint", metavar="NAME", env_var="LOAD_ENDPOINT", default="", help="the endpoint")
    parser.add_argument("--region", metavar="REGION", env_var="LOAD_REGION", default="", help="its region")
    parser.add_argument(
        "--endpoint-url", metavar="URL", env_var="LOAD_ENDPOINT_URL", default="", help="what stands in for AWS"
    )
    parser.add_argument("--profile-of-speech", metavar="NAME", default="kokoro", help="protocol of the container")
    parser.add_argument(
        "--answers",
        type=int,
        metavar="N",
        default=0,
        help="end after so many answers, if that is sooner",
    )
    parser.add_argument("--think-s", type=float, metavar="SECONDS", default=1.0, help="pause between two turns")


def _chosen(options: Any) -> Settings:
    return settings(
        endpoint=options.endpoint or None, region=options.region or None, endpoint_url=options.endpoint_url or None
    )


@events.init.add_listener
def _begin(environment: Any, **_: Any) -> None:
    environment.instances = None
    environment.talking = None
    try:
        chosen = _chosen(environment.parsed_options)
        if not isinstance(environment.runner, MasterRunner):
            given = {
                "--endpoint": chosen.endpoint,
                "--region": chosen.region,
                "--endpoint-url": chosen.endpoint_url,
                "--profile": environment.parsed_options.profile_of_speech,
            }
            arguments = [word for name, value in given.items() if value for word in (name, value)]
            environment.talking = Talking(arguments)
            _begun.set()
        if not isinstance(environment.runner, WorkerRunner):
            environment.instances = _instances(chosen)
            if environment.parsed_options.answers:
                gevent.spawn(_end_after, environment, environment.parsed_options.answers)
    except (SettingsError, NotConfiguredError, UnreachableError) as error:
        if isinstance(environment.runner, MasterRunner):
            for worker in psutil.Process().children():  # of --processes; Locust's own exit leaves them behind
                worker.terminate()
        raise SystemExit(f"locust: {error}") from None


def _end_after(environment: Any, answers: int) -> None:
    # workers report every three seconds
    while sum(environment.stats.get(name, _KIND).num_requests for name in (TURN, FAILED)) < answers:
        gevent.sleep(0.2)
    environment.runner.quit()


def _instances(chosen: Settings) -> int | None:
    """Return how many instances are behind the endpoint, and say what they cost; None where nobody can tell."""
    with connected(chosen) as cloud:
        try:
            found = describe(cloud.client("sagemaker"), chosen.endpoint)
        except Exception as error:  # noqa: BLE001 - only a line of the report depends on it
            print(f"load: {chosen} cannot be described ({error})")
            return None
    for variant in found.variants:
        if not chosen.local:
            print(f"load: {standing_cost(variant.instance_type, variant.instances, chosen.prices)}")
    return sum(variant.instances for variant in found.variants)


@events.quitting.add_listener
def _end(environment: Any, **_: Any) -> None:
    if environment.talking is not None:
        environment.talking.close()
    if isinstance(environment.runner, WorkerRunner):
        return
    stats = environment.stats
    series = {
        entry.name: Series(entry.num_requests, entry.num_failures, entry.get_response_time_percentile)
        for entry in stats.entries.values()
    }
    seconds = (stats.last_request_timestamp or 0) - (stats.start_time or 0)
    users = environment.parsed_options.num_users or 1
    print("\n".join(["", *lines(series, seconds, users, environment.instances)]))


class SpeechUser(User):
    """A caller: opens a session, asks for sentences with pauses, and hangs up after some turns."""

    def wait_time(self) -> float:
        """Return the pause before the next turn, in seconds."""
        pause: float = self.environment.parsed_options.think_s
        return float(between(0.5 * pause, 1.5 * pause)(self))

    def on_start(self) -> None:
        """Take a name; the first turn opens the session."""
        self._caller = f"{id(self):x}"
        self._turns = 0
        _begun.wait()

    @task
    def speak(self) -> None:
        """Ask for one sentence and wait for the whole answer."""
        self._turns += 1
        if self._turns % _TURNS_A_SESSION == 0:
            self._say(None)
            return
        heard = self._say(random.choice(SENTENCES))  # noqa: S311 - no secret
        if heard is not None:
            self._count(heard)

    def on_stop(self) -> None:
        """Hang up."""
        self._say(None)

    def _say(self, text: str | None) -> Heard | None:
        talking: Talking = self.environment.talking
        try:
            return talking.say(self._caller, text)
        except TalkerGoneError as error:
            if text is not None:
                self._fire(FAILED, 0.0, 0, str(error))
                self.environment.runner.quit()
            return None

    def _count(self, heard: Heard) -> None:
        for name, value in rows(heard).items():
            self._fire(
                name, value, heard.size if name in (TURN, FAILED) else 0, heard.error if name == FAILED else None
            )

    def _fire(self, name: str, value: float, size: int = 0, error: str | None = None) -> None:
        self.environment.events.request.fire(
            request_type=_KIND,
            name=name,
            response_time=value,
            response_length=size,
            exception=None if error is None else RuntimeError(error),
            context={},
        )
