// The good speech container on Node and its package `ws`; run as `node speech.cjs PORT`.
// Every step is a member of `good`, so that a broken container can replace exactly one.
"use strict";

const http = require("node:http");
const { buffer } = require("node:stream/consumers");
const { WebSocketServer } = require("ws");
const model = require("./model.cjs");

const PATH = "/invocations-bidirectional-stream";
const FRAME_BYTES = 7680; // 160 ms: an even number, whole samples
const LARGEST = 16 << 20;
const RATES = [8000, 16000, 22050, 24000];
const VOICES = ["af_heart", "af_bella", "am_adam", "am_michael"];

/** Return what a message asks for; throw where it cannot be served. */
function parse(data) {
  const request = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  if (typeof request !== "object" || request === null || Array.isArray(request)) throw new Error("not a JSON object");
  const { type, text, voice = "af_heart", speed = 1, sample_rate: rate = 24000, request_id: id = "unknown" } = request;
  const refuse = (why) => {
    throw Object.assign(new Error(why), { id });
  };
  if (type === "close") return { type };
  if (type !== undefined) refuse(`unknown type ${JSON.stringify(type)}`);
  if (typeof text !== "string" || text === "") refuse("text required");
  if (!VOICES.includes(voice)) refuse(`voice must be one of ${VOICES}`);
  if (!Number.isFinite(speed) || speed < 0.5 || speed > 2) refuse("speed must be a number from 0.5 to 2");
  if (!RATES.includes(rate)) refuse(`sample_rate must be one of ${RATES}`);
  return { text, voice, speed, rate, id };
}

const good = {
  /** Hold one conversation: one answer after the other, however fast the requests come. */
  converse(ws, steps) {
    let last = Promise.resolve();
    ws.on("message", (data) => {
      last = last.then(() => steps.answer(ws, data, steps)).catch(() => ws.close(1011));
    });
    ws.on("error", (problem) => console.error(problem.message)); // without a listener it ends the process
  },

  /** Answer one message; `data` is a Buffer, whichever type its frame had. */
  async answer(ws, data, steps) {
    let request;
    try {
      request = parse(data);
    } catch (problem) {
      steps.control(ws, { type: "error", request_id: problem.id ?? "unknown", message: problem.message });
      return;
    }
    if (request.type === "close") steps.close(ws);
    else await steps.say(ws, request, steps);
  },

  /** Send start, audio and complete of one request. */
  async say(ws, request, steps) {
    steps.control(ws, { type: "synthesis_start", request_id: request.id });
    const pcm = await model.speak(request);
    for (let start = 0; start < pcm.length; start += FRAME_BYTES) {
      const frame = pcm.subarray(start, start + FRAME_BYTES);
      const problem = await new Promise((done) => steps.audio(ws, frame, done));
      if (problem) return; // the caller has left
    }
    const seconds = pcm.length / (2 * request.rate);
    steps.control(ws, { type: "synthesis_complete", request_id: request.id, total_duration_s: seconds });
  },

  /** Send PCM in one BINARY frame; `done` is called once it is written. */
  audio(ws, frame, done) {
    ws.send(frame, done);
  },

  /** Send one control event in one TEXT frame. */
  control(ws, event) {
    ws.send(JSON.stringify(event));
  },

  /** End the conversation, because the caller asked for it. */
  close(ws) {
    ws.close(1000);
  },

  /** Take connections at the port that the command line names. */
  listen(server) {
    server.listen(Number(process.argv[2]), "127.0.0.1");
  },

  /** End the process on SIGTERM: tell the callers, then wait for their connections. */
  stop(server, sockets) {
    process.on("SIGTERM", () => {
      for (const ws of sockets.clients) ws.close(1001, "the server stops");
      server.close(() => process.exit(0)); // waits for all connections, WebSockets too
      setTimeout(() => process.exit(1), 20_000).unref();
    });
  },
};

/** Answer `POST /invocations`: what can fail fails before the status goes out. */
async function invoke(request, response) {
  const body = await buffer(request);
  let pcm;
  try {
    pcm = await model.speak(parse(body));
  } catch (problem) {
    response.writeHead(400, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ message: problem.message }));
    return;
  }
  response.writeHead(200, { "Content-Type": "audio/pcm" });
  for (let start = 0; start < pcm.length; start += FRAME_BYTES) response.write(pcm.subarray(start, start + FRAME_BYTES));
  response.end();
}

/** Serve `/ping`, `POST /invocations` and the stream. */
function serve(steps = good) {
  const server = http.createServer((request, response) => {
    const [path] = request.url.split("?");
    if (path === "/invocations" && request.method === "POST") invoke(request, response).catch(() => request.destroy());
    else response.writeHead(path === "/ping" ? 200 : 404).end();
  });
  const sockets = new WebSocketServer({ server, path: PATH, maxPayload: LARGEST });
  sockets.on("connection", (ws) => steps.converse(ws, steps));
  steps.stop(server, sockets);
  steps.listen(server);
}

module.exports = { good, parse, serve };
if (require.main === module) serve();
