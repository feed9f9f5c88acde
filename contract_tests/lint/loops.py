"""L2 and L4: what can end the receive loop of a conversation, by accident or without a Close frame."""

import ast
from collections.abc import Iterator

from contract_tests.lint.finding import Rule
from contract_tests.lint.rules import NO_CLOSE, UNGUARDED_PARSE
from contract_tests.lint.sockets import Handler
from contract_tests.lint.source import Function, Source, called, dotted, own_nodes

__all__ = ["loops"]

_PARSERS = frozenset({
    "json.loads", "json.load", "orjson.loads", "ujson.loads", "simplejson.loads", "msgspec.json.decode",
})  # fmt: skip
_PARSING_METHODS = frozenset({"model_validate_json", "parse_raw", "validate_json"})
_RECEIVING_PARSERS = frozenset({"receive_json", "iter_json"})
_CATCHES = frozenset({
    "ValueError", "JSONDecodeError", "ValidationError", "DecodeError", "MsgspecError", "Exception", "BaseException",
})  # fmt: skip
_DISCONNECTS = ("disconnect", "websocket.receive", "closed", "closing", "WSMsgType.CLOSE", "WSMsgType.ERROR")


def loops(source: Source, found: list[Handler]) -> Iterator[tuple[ast.AST, str, Rule]]:
    """Yield (node, text, rule) for each place in a file."""
    functions = {id(function): function for function in source.functions()}
    seen: set[int] = set()
    for handler in found:
        for loop in handler.loops():
            for node, text in _parsing(source, handler, loop, list(functions.values())):
                if id(node) not in seen:
                    seen.add(id(node))
                    yield node, text, UNGUARDED_PARSE
        for node, text in _endpoint_parsing(source, handler):
            yield node, text, UNGUARDED_PARSE
    if not _closes(source, found):
        for handler in found:
            yield from ((node, text, NO_CLOSE) for node, text in _silent_ends(source, handler))


def _parses(source: Source, handler: Handler | None, node: ast.AST) -> str | None:
    """Return what parses here, None if nothing does."""
    if isinstance(node, ast.Call):
        name = source.full_name(node.func)
        if name in _PARSERS:
            return name
        if called(node) in _PARSING_METHODS:
            return called(node)
    if handler is not None:
        method = handler.received(node)
        if method in _RECEIVING_PARSERS:
            return method
    return None


def _parsing(
    source: Source, handler: Handler, loop: ast.While | ast.AsyncFor, functions: list[Function]
) -> Iterator[tuple[ast.AST, str]]:
    for node in own_nodes(loop):
        what = _parses(source, handler, node)
        if what and not _caught(source, node, loop):
            yield node, f"`{what}()` stands in the receive loop and in no `try` of that loop"
        helper = _helper(source, handler, node, functions)
        if helper is not None and helper is not handler.function and not _caught(source, node, loop):
            for each in own_nodes(helper):
                inner = _parses(source, None, each)
                if inner and _of_parameter(each, helper) and not _caught(source, each, helper):
                    yield each, f"`{inner}()` raises into the receive loop (line {loop.lineno}), which catches nothing"


def _endpoint_parsing(source: Source, handler: Handler) -> Iterator[tuple[ast.AST, str]]:
    """Look into ``on_receive`` of a Starlette endpoint: its loop is the framework's."""
    owner = source.class_of(handler.function)
    if handler.function.name != "on_receive" or owner is None:
        return
    if any(dotted(base).endswith("WebSocketEndpoint") for base in owner.bases):
        for node in handler.nodes():
            what = _parses(source, handler, node)
            if what and not _caught(source, node, handler.function):
                yield node, f"`{what}()` raises out of on_receive(), which ends the connection"


def _helper(source: Source, handler: Handler, node: ast.AST, functions: list[Function]) -> Function | None:
    """Return the function of the same file (or the method of the same class) that is called here."""
    if not isinstance(node, ast.Call):
        return None
    name = dotted(node.func)
    owner = source.class_of(handler.function)
    for function in functions:
        if source.class_of(function) is None and name == function.name:
            return function
        if owner is not None and source.class_of(function) is owner and name == f"self.{function.name}":
            return function
    return None


def _of_parameter(node: ast.AST, function: Function) -> bool:
    """Tell whether what is parsed came in as an argument."""
    names = {argument.arg for argument in function.args.args}
    return isinstance(node, ast.Call) and any(
        isinstance(each, ast.Name) and each.id in names for argument in node.args for each in ast.walk(argument)
    )


def _caught(source: Source, node: ast.AST, limit: ast.AST) -> bool:
    """Tell whether an exception of ``node`` is caught on the way up to ``limit``."""
    below = node
    for above in source.above(node):
        if above is limit:
            return False
        if isinstance(above, ast.Try) and below in above.body and any(map(_catches, above.handlers)):
            return True
        if isinstance(above, ast.With | ast.AsyncWith):
            for item in above.items:
                if called(item.context_expr) == "suppress" or "catch" in called(item.context_expr):
                    return True
        below = above
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    # a name that we do not know may well be an exception of the parser
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {dotted(each).rsplit(".", 1)[-1] for each in types}
    return bool(names & _CATCHES) or any("Disconnect" not in name and "Closed" not in name and name not in _OTHERS
                                         for name in names)  # fmt: skip


_OTHERS = frozenset({
    "KeyError", "TypeError", "RuntimeError", "OSError", "ConnectionError", "TimeoutError", "CancelledError",
    "AttributeError", "IndexError", "ConnectionResetError", "BrokenPipeError", "KeyboardInterrupt", "AssertionError",
})  # fmt: skip
"""Built-in exceptions that no JSON parser raises for a bad text."""


def _closes(source: Source, found: list[Handler]) -> bool:
    """Tell whether anything in the file closes a WebSocket: then we do not guess which way leads past it."""
    ends = {name.rsplit(".", 1)[-1] for handler in found for name in handler.sockets}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and node.value == "websocket.close":
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "close" in node.func.attr.lower():
            last = dotted(node.func.value).rsplit(".", 1)[-1]
            if last in ends or last in {"self", "ws", "websocket", "socket", "connection", "session"}:
                return True
    return False


def _silent_ends(source: Source, handler: Handler) -> Iterator[tuple[ast.AST, str]]:
    """Yield where the loop of an ASGI handler is left although the caller is still there."""
    if not handler.is_asgi:
        return
    for loop in handler.loops():
        for node in own_nodes(loop):
            leaves = isinstance(node, ast.Return) or (isinstance(node, ast.Break) and _loop_of(source, node) is loop)
            if leaves and not _caller_gone(source, node, loop):
                word = "return" if isinstance(node, ast.Return) else "break"
                yield node, f"`{word}` ends the conversation, and nothing in this file closes the WebSocket"


def _loop_of(source: Source, node: ast.AST) -> ast.AST | None:
    return next((each for each in source.above(node) if isinstance(each, ast.While | ast.For | ast.AsyncFor)), None)


def _caller_gone(source: Source, node: ast.AST, loop: ast.AST) -> bool:
    """Tell whether the way to ``node`` leads through a disconnect, an exception, or something that we cannot judge."""
    for above in source.above(node):
        if above is loop:
            return False
        if isinstance(above, ast.ExceptHandler):
            return True
        if isinstance(above, ast.If) and any(isinstance(each, ast.Await) for each in ast.walk(above.test)):
            return True  # what is awaited there may have closed
        if isinstance(above, ast.If | ast.Match):
            text = ast.unparse(above.test if isinstance(above, ast.If) else above).lower()
            if any(word.lower() in text for word in _DISCONNECTS):
                return True
    return False
