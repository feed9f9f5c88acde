// Calls an agent as AgentCore lets a browser call it: InvokeAgentRuntime with a bearer token, an SSE answer.

import { EventReader } from "./sse.js";

/**
 * Asks an agent and gives its events as they come, each with `arrived`, milliseconds of `performance.now()`.
 * A stream that ends without `done` or `error` is an error.
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
  for await (const block of blocks(response.body)) {
    const arrived = performance.now();
    for (const event of reader.feed(block)) {
      over ||= event.type === "done" || event.type === "error" || "error" in event;
      yield { ...event, arrived };
    }
  }
  reader.finish();
  if (!over) throw new Error("the answer broke off: it has no 'done'");
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
