"""Node and its package `ws`.

These lines are run: what is right stands in the good container (``contract_tests/good/node``); a test compares them.
"""

from contract_tests.stack import Stack
from contract_tests.verdict import Snippet

__all__ = [
    "CLOSE",
    "CONTROL_AS_TEXT",
    "FIRST_THE_MODEL",
    "GOODBYE",
    "GUARD",
    "LIMIT",
    "LOOP",
    "MODEL_ELSEWHERE",
    "ORDER",
    "PATH",
    "READ_BOTH",
    "SLICE",
    "STOP_SPEAKING",
    "VALIDATE",
]

_ANSWER = """\
ws.on("message", (data) => {
  last = last.then(() => steps.answer(ws, data, steps)).catch(() => ws.close(1011));
});"""


def _node(before: str, after: str) -> Snippet:
    return Snippet(Stack.NODE, before, after)


READ_BOTH = _node(
    """\
ws.on("message", (data, isBinary) => {
  if (isBinary) return audio.push(data);
  last = last.then(() => steps.answer(ws, data, steps)).catch(() => ws.close(1011));
});""",
    _ANSWER,
)
CONTROL_AS_TEXT = _node(
    "ws.send(Buffer.from(JSON.stringify(event)));    // a Buffer makes a BINARY frame",
    "ws.send(JSON.stringify(event));                 // a string makes a TEXT frame",
)
GUARD = _node(
    """\
ws.on("message", (data) => {
  const request = JSON.parse(data);              // throws: the process ends""",
    """\
let request;
try {
  request = parse(data);                         // JSON, an object, known type, valid fields
} catch (problem) {
  steps.control(ws, { type: "error", request_id: problem.id ?? "unknown", message: problem.message });
  return;
}""",
)
MODEL_ELSEWHERE = _node(
    "const pcm = model.speakSync(request);            // nobody else gets a turn, no Pong goes out",
    """\
const thread = new Worker(__filename);           // node:worker_threads
const waiting = [];
thread.on("message", (samples) => waiting.shift()(Buffer.from(samples.buffer)));
...
const pcm = await model.speak(request);""",
)
LOOP = _node('ws.once("message", (data) => speak(ws, data).then(() => ws.close()));', _ANSWER)
SLICE = _node(
    "ws.send(pcm);                                    // as long as the text is",
    """\
for (let start = 0; start < pcm.length; start += FRAME_BYTES) {    // an even number: whole samples
  const frame = pcm.subarray(start, start + FRAME_BYTES);""",
)
LIMIT = _node(
    "const sockets = new WebSocketServer({ server, path: PATH });       // 100 MiB",
    """\
const sockets = new WebSocketServer({ server, path: PATH, maxPayload: LARGEST });
...
ws.on("error", (problem) => console.error(problem.message)); // without a listener it ends the process""",
)
CLOSE = _node("ws.close();                                      // no code: callers see 1005", "ws.close(1000);")
STOP_SPEAKING = _node(
    "ws.send(frame);                                  // to the end of the text, whoever listens",
    """\
const problem = await new Promise((done) => steps.audio(ws, frame, done));    // ws.send(frame, done)
if (problem) return;                             // the caller has left""",
)
ORDER = _node(
    'ws.on("message", async (data) => speak(ws, data));       // all at once, on one socket',
    f"let last = Promise.resolve();\n{_ANSWER}",
)
FIRST_THE_MODEL = _node(
    """\
response.writeHead(200, { "Content-Type": "audio/pcm" });    // out before anything can fail
for await (const chunk of model.stream(parse(body))) response.write(chunk);""",
    """\
let pcm;
try {
  pcm = await model.speak(parse(body));
} catch (problem) {
  response.writeHead(400, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ message: problem.message }));
  return;
}
response.writeHead(200, { "Content-Type": "audio/pcm" });""",
)
VALIDATE = _node(
    'if (speed < 0.5 || speed > 2) refuse("speed");   // NaN is neither; and "1" is taken for 1',
    'if (!Number.isFinite(speed) || speed < 0.5 || speed > 2) refuse("speed must be a number from 0.5 to 2");',
)
GOODBYE = _node(
    """\
process.on("SIGTERM", () => {
  server.close(() => process.exit(0));""",
    """\
process.on("SIGTERM", () => {
  for (const ws of sockets.clients) ws.close(1001, "the server stops");
  server.close(() => process.exit(0));           // waits for all connections, WebSockets too
  setTimeout(() => process.exit(1), 20_000).unref();
});""",
)
PATH = _node(
    'server.on("upgrade", (request) => request.url === PATH && accept(request));      // with its query string',
    "const sockets = new WebSocketServer({ server, path: PATH, maxPayload: LARGEST }); // compares the path alone",
)
