"""One entry: a broken container, its check, and the mistake that it stands for."""

from pathlib import PurePath

from contract_tests.containers import Container, Server

__all__ = ["broken"]


def broken(
    module: str,
    caught_by: str,
    stands_for: str,
    server: Server = "uvicorn",
    profile: str = "kokoro",
    *,
    cause: str,
    blocks: bool = False,
) -> Container:
    """Return the entry of one module of :mod:`contract_tests.broken`, or of one file of it that is not Python.

    The name tells the server only where it is hypercorn.
    """
    asgi = server in {"uvicorn", "hypercorn"}
    file = PurePath(module)
    return Container(
        name="-".join(file.with_suffix("").parts).replace("_", "-") + (f"-{server}" if server == "hypercorn" else ""),
        app=f"broken/{module}" if file.suffix else f"contract_tests.broken.{module}" + (":app" if asgi else ""),
        server=server,
        caught_by=caught_by,
        profile=profile,
        stands_for=stands_for,
        cause=cause,
        blocks=blocks,
    )
