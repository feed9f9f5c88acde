"""Which expressions of a function are the server's side of a WebSocket, and where messages come out of it.

Only what can be told for sure counts: a client's socket (``async with connect(...) as ws``) is none of a container's.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from contract_tests.lint.source import Function, Source, called, dotted, own_nodes

__all__ = ["Handler", "Stack", "handlers"]

type Stack = Literal["asgi", "aiohttp", "websockets"]

_ANNOTATIONS: dict[str, Stack] = {
    "WebSocket": "asgi",
    "WebSocketResponse": "aiohttp",
    "ServerConnection": "websockets",
    "WebSocketServerProtocol": "websockets",
}
_STARLETTE_ONLY = frozenset({"receive_text", "receive_json", "receive_bytes", "iter_text", "iter_json", "iter_bytes"})
_AIOHTTP_ONLY = frozenset({"receive_str"})
_RECEIVES = _STARLETTE_ONLY | _AIOHTTP_ONLY | {"receive", "recv"}
_DECORATORS = frozenset({"websocket", "websocket_route"})
_REGISTRARS: dict[str, Stack] = {"WebSocketRoute": "asgi", "add_websocket_route": "asgi", "serve": "websockets"}
_CLIENTS = frozenset({"connect", "ws_connect", "aconnect_ws", "connect_ws", "websocket_connect", "create_connection"})


@dataclass
class Handler:
    """A function that holds the server's end of a WebSocket; ``sockets`` are its names there (``ws``, ``self.ws``)."""

    function: Function
    sockets: dict[str, Stack] = field(default_factory=dict)
    bare_receive: bool = False
    """Plain ASGI: messages come from a parameter ``receive``."""

    @property
    def is_asgi(self) -> bool:
        """Whether the socket is an ASGI server's, so that nobody closes it but the application."""
        return self.bare_receive or "asgi" in self.sockets.values()

    def nodes(self) -> Iterator[ast.AST]:
        """Yield what stands in the function itself."""
        return own_nodes(self.function)

    def is_socket(self, node: ast.expr) -> bool:
        """Tell whether the expression is the WebSocket."""
        return dotted(node) in self.sockets

    def received(self, node: ast.AST) -> str | None:
        """Return the name of the method by which ``node`` gets the next message, None if it does not."""
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute) and function.attr in _RECEIVES and self.is_socket(function.value):
                return function.attr
            if self.bare_receive and isinstance(function, ast.Name) and function.id == "receive":
                return "receive"
        if isinstance(node, ast.AsyncFor):
            if self.is_socket(node.iter):
                return "async for"
            if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Attribute):
                function = node.iter.func
                if function.attr.startswith("iter_") and self.is_socket(function.value):
                    return function.attr
        return None

    def loops(self) -> Iterator[ast.While | ast.AsyncFor]:
        """Yield the loops that take one message after the other."""
        for node in self.nodes():
            receives = isinstance(node, ast.While) and any(self.received(each) for each in own_nodes(node))
            if isinstance(node, ast.While | ast.AsyncFor) and (receives or self.received(node)):
                yield node


def handlers(source: Source) -> list[Handler]:
    """Return the functions of a file that hold the server's end of a WebSocket."""
    registered = dict(_registered(source))
    fields = {each: _fields(each) for each in ast.walk(source.tree) if isinstance(each, ast.ClassDef)}
    found = []
    for function in source.functions():
        handler = Handler(function)
        owner = source.class_of(function)
        handler.sockets.update(fields.get(owner, {}) if owner else {})
        handler.sockets.update(_parameters(source, function, registered.get(function.name)))
        handler.sockets.update(_locals(function))
        methods = (
            [each for each in owner.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)] if owner else []
        )
        clients = {name for each in [function, *methods] for name in _clients(each)}
        for name in clients:
            handler.sockets.pop(name, None)
        for name, stack in _used(function):
            if name not in clients:
                handler.sockets.setdefault(name, stack)
        names = [argument.arg for argument in function.args.args]
        # an ASGI application also serves lifespan and HTTP: only one that names the messages of a WebSocket is meant
        handler.bare_receive = {"receive", "send"} <= set(names) and any(
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("websocket.")
            for node in own_nodes(function)
        )
        if handler.sockets or handler.bare_receive:
            found.append(handler)
    return found


def _annotated(node: ast.expr | None) -> Stack | None:
    """Return the stack of an annotation such as ``WebSocket``, ``web.WebSocketResponse`` or ``"WebSocket | None"``."""
    if node is None:
        return None
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    for word in text.replace("|", " ").replace("[", " ").replace("]", " ").replace(",", " ").split():
        stack = _ANNOTATIONS.get(word.rsplit(".", 1)[-1])
        if stack is not None:
            return stack
    return None


def _parameters(source: Source, function: Function, registered: Stack | None) -> Iterator[tuple[str, Stack]]:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    for argument in arguments:
        stack = _annotated(argument.annotation)
        if stack is not None:
            yield argument.arg, stack
    plain = [argument.arg for argument in arguments if argument.arg not in {"self", "cls"}]
    owner = source.class_of(function)
    endpoint = owner is not None and any(dotted(base).endswith("WebSocketEndpoint") for base in owner.bases)
    decorated = any(isinstance(each, ast.Call) and called(each) in _DECORATORS for each in function.decorator_list)
    if plain and (registered or decorated or (endpoint and function.name.startswith("on_"))):
        first = arguments[len(arguments) - len(plain)]
        if first.annotation is None:
            yield first.arg, registered or "asgi"


def _registered(source: Source) -> Iterator[tuple[str, Stack]]:
    """Yield the functions that are handed to a route or a server by name."""
    for node in ast.walk(source.tree):
        stack = _REGISTRARS.get(called(node))
        if stack is None or not isinstance(node, ast.Call):
            continue
        values = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in {"endpoint", "handler"})]
        for value in values:
            name = dotted(value)
            if name and "." not in name:
                yield name, stack


def _fields(owner: ast.ClassDef) -> dict[str, Stack]:
    """Return the attributes of a class that hold a WebSocket: annotated ones, and parameters kept in ``self``."""
    found: dict[str, Stack] = {}
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            stack = _annotated(node.annotation)
            if stack is not None:
                found[f"self.{node.target.id}"] = stack
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        stacks = {argument.arg: _annotated(argument.annotation) for argument in node.args.args}
        for each in own_nodes(node):
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name):
                stack = stacks.get(each.value.id)
                if stack is not None:
                    found.update((dotted(target), stack) for target in each.targets if dotted(target))
    return found


def _locals(function: Function) -> Iterator[tuple[str, Stack]]:
    for node in own_nodes(function):
        if isinstance(node, ast.Assign) and called(node.value) == "WebSocketResponse":
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, "aiohttp"


def _clients(function: Function) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if called(item.context_expr) in _CLIENTS and item.optional_vars is not None:
                    yield dotted(item.optional_vars)
        elif isinstance(node, ast.Assign):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            if called(value) in _CLIENTS:
                yield from (dotted(target) for target in node.targets)


def _used(function: Function) -> Iterator[tuple[str, Stack]]:
    """Yield what must be a WebSocket by the methods that are awaited on it: no other class has them."""
    for node in own_nodes(function):
        call = node.value if isinstance(node, ast.Await) else node.iter if isinstance(node, ast.AsyncFor) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        name = dotted(call.func.value)
        if name in {"self", "super"}:  # the framework itself
            continue
        if name and call.func.attr in _STARLETTE_ONLY:
            yield name, "asgi"
        elif name and call.func.attr in _AIOHTTP_ONLY:
            yield name, "aiohttp"
        elif name and call.func.attr == "receive" and name.rsplit(".", 1)[-1] in {"ws", "websocket", "socket"}:
            yield name, "asgi"
