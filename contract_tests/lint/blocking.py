"""L3: calls that stop the event loop. The list is short on purpose: what may be asynchronous is left alone."""

import ast
from collections.abc import Iterator

from contract_tests.lint.finding import Rule
from contract_tests.lint.rules import BLOCKING_CALL
from contract_tests.lint.source import Function, Source, called, dotted, own_nodes

__all__ = ["blocking"]

_FUNCTIONS = frozenset({
    "time.sleep", "os.system", "os.popen", "urllib.request.urlopen",
    "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.getoutput",
    "requests.get", "requests.post", "requests.put", "requests.patch", "requests.delete", "requests.head",
    "requests.request", "httpx.get", "httpx.post", "httpx.put", "httpx.request",
})  # fmt: skip
_MODEL_METHODS = frozenset({
    "synthesize", "synthesise", "synthesize_speech", "tts", "tts_to_file", "transcribe", "run_inference", "infer",
})  # fmt: skip
_EATERS = frozenset({"send_bytes", "send_text", "send", "list", "bytes", "len", "join", "concatenate", "tobytes"})
"""Calls that want a result, not something to be awaited."""


def blocking(source: Source) -> Iterator[tuple[ast.AST, str, Rule]]:
    """Yield (node, text, rule) for each place in a file."""
    coroutines = {each.name for each in source.functions() if isinstance(each, ast.AsyncFunctionDef)}
    plain = {each.name: each for each in source.functions() if isinstance(each, ast.FunctionDef)}
    for function in source.functions():
        if not isinstance(function, ast.AsyncFunctionDef):
            continue
        for node in own_nodes(function):
            if not isinstance(node, ast.Call) or _awaited(source, node):
                continue
            name = source.full_name(node.func)
            helper = _helper(source, function, node, plain)
            if name in _FUNCTIONS:
                yield node, f"`{name}()` inside `async def {function.name}`", BLOCKING_CALL
            elif helper is not None:
                for inner in _blocks(source, helper):
                    text = f"`{helper.name}()` inside `async def {function.name}` calls `{inner}()`"
                    yield node, text, BLOCKING_CALL
                    break
            elif _is_model_call(node, coroutines) and _result_is_used(source, function, node):
                text = f"`.{called(node)}()` inside `async def {function.name}`, not awaited: it runs on the event loop"
                yield node, text, BLOCKING_CALL


def _awaited(source: Source, node: ast.Call) -> bool:
    parent = source.parents.get(node)
    if isinstance(parent, ast.Await):
        return True
    if isinstance(parent, ast.AsyncFor | ast.comprehension):
        return (isinstance(parent, ast.AsyncFor) or bool(parent.is_async)) and parent.iter is node
    return isinstance(parent, ast.withitem) and isinstance(source.parents.get(parent), ast.AsyncWith)


def _helper(
    source: Source, function: Function, node: ast.Call, plain: dict[str, ast.FunctionDef]
) -> ast.FunctionDef | None:
    """Return the plain function of this file, or method of this class, that is called."""
    name = dotted(node.func)
    helper = plain.get(name.removeprefix("self."))
    if helper is None or any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own_nodes(helper)):
        return None
    owner = source.class_of(helper)
    if name.startswith("self."):
        return helper if owner is not None and owner is source.class_of(function) else None
    return helper if owner is None and isinstance(source.parents.get(helper), ast.Module) else None


def _blocks(source: Source, helper: ast.FunctionDef) -> Iterator[str]:
    for node in own_nodes(helper):
        if isinstance(node, ast.Call) and source.full_name(node.func) in _FUNCTIONS:
            yield source.full_name(node.func)


def _is_model_call(node: ast.Call, coroutines: set[str]) -> bool:
    return (
        isinstance(node.func, ast.Attribute) and node.func.attr in _MODEL_METHODS and node.func.attr not in coroutines
    )


def _result_is_used(source: Source, function: Function, node: ast.Call) -> bool:
    """Tell whether the result is used at once as a value, so that it can be no coroutine."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.For | ast.Subscript | ast.Attribute | ast.comprehension | ast.Expr | ast.BinOp):
        return True
    if isinstance(parent, ast.Call):
        return called(parent) in _EATERS
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        return bool(names) and not any(_awaits(each, names) for each in own_nodes(function))
    return False


def _awaits(node: ast.AST, names: set[str]) -> bool:
    """Tell whether one of the names is awaited, iterated asynchronously, or handed to something of asyncio."""
    if isinstance(node, ast.Await):
        return any(isinstance(each, ast.Name) and each.id in names for each in [node.value])
    if isinstance(node, ast.AsyncFor):
        return isinstance(node.iter, ast.Name) and node.iter.id in names
    if isinstance(node, ast.AsyncWith):
        return any(isinstance(i.context_expr, ast.Name) and i.context_expr.id in names for i in node.items)
    if isinstance(node, ast.Call) and dotted(node.func).split(".")[0] in {"asyncio", "anyio", "trio", "isawaitable"}:
        return any(isinstance(each, ast.Name) and each.id in names for each in node.args)
    return isinstance(node, ast.Call) and any(
        isinstance(each, ast.Name) and each.id in names and called(node) in {"create_task", "gather", "wait_for"}
        for each in node.args
    )
