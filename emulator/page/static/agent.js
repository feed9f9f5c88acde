// Calls an agent as AgentCore lets a browser call it, with a bearer token: InvokeAgentRuntime with an answer of
// server-sent events, audio in base64 (`ask`), or a WebSocket with audio as it is (`talk`).

import { fromBase64 } from "./pcm.js";
import { EventReader } from "./sse.js";

/**
 * Asks an agent and gives its events as they come, each with `arrived`, milliseconds of `performance.now()`, and with
 * `received`, the bytes so far. An `audio_chunk` has its bytes as `pcm`. A stream that ends without `done` or `error` is
 * an error.
 * @param {{path: string, token: string}} agent
 * @param {{prompt: string, mode: string}} payload
 * @param {AbortSignal} [signal]
 */
export async function* ask(agent, payload, signal) {
  const response = await fetch(agent.path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: `Bearer ${agent.token}`,
      "x-amzn-bedrock-agentcore-runtime-session-id": crypto.randomUUID(),
    },
    body: JSON.stringify(payload),
    signal,
  });
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw new Error(`HTTP ${response.status}: ${said.message ?? response.statusText}`);
  }
  const reader = new EventReader();
  let over = false;
  let received = 0;
  for await (const block of blocks(response.body)) {
    const arrived = performance.now();
    received += block.length;
    for (const event of reader.feed(block)) {
      over ||= event.type === "done" || event.type === "error" || "error" in event;
      if (event.type === "audio_chunk") event.pcm = fromBase64(event.data ?? event.audio);
      yield { ...event, arrived, received };
    }
  }
  reader.finish();
  if (!over) throw new Error("the answer broke off: it has no 'done'");
}

/**
 * The same over a WebSocket: text frames are events, binary frames are audio.
 * @param {{socket: string, token: string}} agent
 * @param {{prompt: string, mode: string}} payload
 * @param {AbortSignal} [signal]
 */
export async function* talk(agent, payload, signal) {
  const url = new URL(agent.socket, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.searchParams.set("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", crypto.randomUUID());
  const token = btoa(agent.token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const socket = new WebSocket(url, [`base64UrlBearerAuthorization.${token}`, "base64UrlBearerAuthorization"]);
  socket.binaryType = "arraybuffer";
  const waiting = [];
  let wake = () => {};
  const push = (item) => {
    waiting.push(item);
    wake();
  };
  socket.onopen = () => socket.send(JSON.stringify(payload));
  socket.onmessage = ({ data }) => push({ data, arrived: performance.now() });
  socket.onclose = ({ code, reason }) => push({ ended: `the WebSocket was closed: ${code} ${reason}` });
  signal?.addEventListener("abort", () => push({ ended: "stopped" }));
  const utf8 = new TextEncoder();
  let received = 0;
  try {
    for (;;) {
      while (!waiting.length) {
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
      const { data, arrived, ended } = waiting.shift();
      if (ended) throw new Error(ended);
      if (data instanceof ArrayBuffer) {
        received += data.byteLength;
        yield { type: "audio_chunk", pcm: new Uint8Array(data), arrived, received };
        continue;
      }
      received += utf8.encode(data).length;
      const event = JSON.parse(data);
      yield { ...event, arrived, received };
      if (event.type === "done" || event.type === "error" || "error" in event) return;
    }
  } finally {
    socket.onclose = null;
    socket.close(1000);
  }
}

async function* blocks(stream) {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
