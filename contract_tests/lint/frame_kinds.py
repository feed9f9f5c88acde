"""L1 and L5: code that does not take BINARY frames, or tells them from TEXT frames in a way that does not hold."""

import ast
from collections.abc import Iterator

from contract_tests.lint.finding import Rule
from contract_tests.lint.rules import TEXT_ONLY, TEXT_TRUTH
from contract_tests.lint.sockets import Handler
from contract_tests.lint.source import Source, called, dotted, own_nodes

__all__ = ["frame_kinds"]

_TEXT_METHODS = frozenset({"receive_text", "receive_str", "iter_text"})
_JSON_METHODS = frozenset({"receive_json", "iter_json"})


def frame_kinds(source: Source, found: list[Handler]) -> Iterator[tuple[ast.AST, str, Rule]]:
    """Yield (node, text, rule) for each place in a file."""
    for handler in found:
        yield from ((node, text, TEXT_ONLY) for node, text in _text_methods(handler))
        yield from ((node, text, TEXT_ONLY) for node, text in _text_branch(handler))
        yield from _message_keys(source, handler)
    yield from ((node, text, TEXT_ONLY) for node, text in _endpoints(source))


def _text_methods(handler: Handler) -> Iterator[tuple[ast.AST, str]]:
    for node in handler.nodes():
        method = handler.received(node)
        if method in _TEXT_METHODS:
            yield _receiver(node), f"`{method}()` takes TEXT frames only"
        elif method in _JSON_METHODS and _reads_text(node):
            yield _receiver(node), f"`{method}()` takes TEXT frames only, unless its mode says otherwise"


def _receiver(node: ast.AST) -> ast.AST:
    return node.iter if isinstance(node, ast.AsyncFor) else node


def _reads_text(node: ast.AST) -> bool:
    """Tell whether ``receive_json()`` or ``iter_json()`` has its default mode."""
    call = node.value if isinstance(node, ast.Await) else node.iter if isinstance(node, ast.AsyncFor) else None
    if not isinstance(call, ast.Call):
        return False
    modes = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return all(isinstance(mode, ast.Constant) and mode.value == "text" for mode in modes)


def _text_branch(handler: Handler) -> Iterator[tuple[ast.AST, str]]:
    """Find a branch for text where nothing in the function speaks of bytes."""
    if not any(True for _ in handler.loops()):
        return
    words = {dotted(node).rsplit(".", 1)[-1] for node in ast.walk(handler.function) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(handler.function) if isinstance(node, ast.Name)}
    for node in handler.nodes():
        if not isinstance(node, ast.If):
            continue
        for part in ast.walk(node.test):
            is_text = isinstance(part, ast.Attribute) and dotted(part).endswith("WSMsgType.TEXT")
            if is_text and "aiohttp" in handler.sockets.values() and "BINARY" not in words and not _has_else(node):
                yield part, "a branch for WSMsgType.TEXT, and none for WSMsgType.BINARY"
            if (
                isinstance(part, ast.Call)
                and called(part) == "isinstance"
                and len(part.args) == 2
                and dotted(part.args[1]) == "str"
                and _is_last(handler, node)
                and not names & {"bytes", "bytearray", "memoryview"}
                and _is_message(handler, part.args[0])
                and not _negated(node.test, part)
            ):
                yield part, "a branch for str, and none for bytes"


def _has_else(node: ast.If) -> bool:
    """Tell whether an if/elif chain ends in an else."""
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
    return bool(node.orelse)


def _is_last(handler: Handler, node: ast.If) -> bool:
    """Tell whether nothing else is done with a message: no else, and nothing behind it in the receive loop."""
    return not node.orelse and any(loop.body[-1] is node for loop in handler.loops())


def _negated(test: ast.expr, part: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and test.operand is part


def _is_message(handler: Handler, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _messages(handler)


def _messages(handler: Handler) -> set[str]:
    """Return the names that messages are bound to."""
    names = set()
    for node in handler.nodes():
        if isinstance(node, ast.AsyncFor) and handler.received(node) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign) and handler.received(node.value):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.NamedExpr) and handler.received(node.value):
            names.add(node.target.id)
    return names


def _message_keys(source: Source, handler: Handler) -> Iterator[tuple[ast.AST, str, Rule]]:
    """Look at how the keys of a raw ASGI message are used."""
    if not handler.is_asgi:
        return
    messages = _messages(handler)
    text = [node for node in handler.nodes() if _is_key(node, messages, "text")]
    if not text:
        return
    # a helper that is handed the whole message may look for the bytes
    handed_on = any(
        isinstance(argument, ast.Name) and argument.id in messages
        for node in handler.nodes()
        if isinstance(node, ast.Call)
        for argument in node.args
    )
    if not handed_on and "bytes" not in _strings(handler.function):
        yield text[0], 'only the key "text" of the message is looked at, never "bytes"', TEXT_ONLY
    for node in handler.nodes():
        test = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else None
        if test is not None:
            for part in _truths(test):
                if _is_key(part, messages, "text") and not _guarded(test):
                    yield part, _said(part), TEXT_TRUTH
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            yield from _either(source, node, messages)


def _strings(function: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _is_key(node: ast.AST, messages: set[str], key: str) -> bool:
    """Tell whether the node is ``message["text"]``, ``message.get("text")`` or ``"text" in message``."""
    if isinstance(node, ast.Subscript):
        return dotted(node.value) in messages and isinstance(node.slice, ast.Constant) and node.slice.value == key
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        first = node.args[0]
        return dotted(node.func.value) in messages and isinstance(first, ast.Constant) and first.value == key
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
        left = node.left
        return isinstance(left, ast.Constant) and left.value == key and dotted(node.comparators[0]) in messages
    return False


def _truths(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of a condition whose own truth is asked for."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _truths(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _truths(test.operand)
    else:
        yield test


def _guarded(test: ast.expr) -> bool:
    """Tell whether the condition asks for None as well."""
    return any(
        isinstance(node, ast.Compare)
        and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        and any(isinstance(each, ast.Constant) and each.value is None for each in node.comparators)
        for node in ast.walk(test)
    )


def _said(node: ast.expr) -> str:
    if isinstance(node, ast.Compare):
        return '`"text" in message` is true for a BINARY frame under hypercorn, where the text is None'
    return f"`{ast.unparse(node)}` is false for an empty text"


def _either(source: Source, node: ast.BoolOp, messages: set[str]) -> Iterator[tuple[ast.AST, str, Rule]]:
    """Find ``message.get("text") or message["bytes"].decode()``: an empty text has no bytes beside it."""
    first, *rest = node.values
    if not _is_key(first, messages, "text"):
        return
    for value in rest:
        for part in ast.walk(value):
            if not _is_key(part, messages, "bytes"):
                continue
            parent = source.parents.get(part)
            if isinstance(part, ast.Subscript) or isinstance(parent, ast.Attribute):
                yield node, "for an empty text this goes on to the bytes, which are not there", TEXT_TRUTH
                return


def _endpoints(source: Source) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef) or not any(dotted(b).endswith("WebSocketEndpoint") for b in node.bases):
            continue
        for each in own_nodes(node):
            if (
                isinstance(each, ast.Assign)
                and any(dotted(target) == "encoding" for target in each.targets)
                and isinstance(each.value, ast.Constant)
                and each.value.value == "text"
            ):
                yield each, '`encoding = "text"` closes the connection on a BINARY frame'
