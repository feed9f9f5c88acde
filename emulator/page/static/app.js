// The page: one prompt, two columns, what happens when.

import { ask, talk } from "./agent.js";
import { openDecoder } from "./decoder.js";
import { Player } from "./player.js";

const form = document.querySelector("form");
const player = new Player();
const configuration = await (await fetch("config.json")).json();
let running = null; // the AbortController of the newest question
const latest = {}; // the signal of the newest question by mode

if (!configuration.agents.length) {
  document.querySelector("#notice").textContent =
    "This emulator has no agent. Start it with: uv run emulator up --target kokoro --agent agent";
  for (const button of form.querySelectorAll("button")) button.disabled = true;
}

function show(column, name, text) {
  document.querySelector(`#${column} .${name}`).textContent = text;
}

function milliseconds(value) {
  return `${Math.round(value)} ms`;
}

/** Asks in one mode; resolves when its audio was played, or when it failed and the column says so. */
async function run(mode, prompt, format, call, signal) {
  const column = document.querySelector(`#${mode}`);
  const log = column.querySelector("ol");
  let decoder = null;
  const times = {};
  latest[mode] = signal;
  column.classList.remove("failed", "complete");
  log.replaceChildren();
  for (const name of ["first", "heard", "written", "received", "text", "error"]) show(mode, name, "");
  delete column.dataset.gaps;
  const fail = (error) => {
    column.classList.add("failed");
    show(mode, "error", String(error.message ?? error));
  };
  let gaps = 0;
  let begun = performance.now();
  try {
    await player.open();
    signal.throwIfAborted();
    player.started = () => {
      if (signal.aborted) return;
      times.heard ??= performance.now() - begun;
      show(mode, "heard", milliseconds(times.heard));
    };
    player.gap = () => {
      gaps += 1;
    };
    const played = new Promise((resolve) => {
      player.ended = resolve;
      signal.addEventListener("abort", resolve);
    });
    const play = (samples) => {
      if (!signal.aborted) player.play(samples);
    };
    const [agent] = configuration.agents;
    let text = "";
    let chunks = 0;
    let failed = false;
    try {
      for await (const event of call({ ...agent, token: configuration.token }, { prompt, mode, format }, signal)) {
        if (event.type === "agent_start") begun = event.arrived;
        // an agent that says nothing of its format speaks PCM
        if (event.format || event.type === "audio_chunk") {
          decoder ??= await openDecoder(event.format ?? "pcm16", 24000, play);
        }
        signal.throwIfAborted();
        const at = event.arrived - begun;
        show(mode, "received", `${Math.round(event.received / 1000)} kB`);
        const delta = event.type === "text" || event.type === "text_delta";
        if (delta) {
          text += event.text ?? "";
          show(mode, "text", text);
        } else if (event.type === "audio_chunk") {
          chunks += 1;
          times.first ??= at;
          show(mode, "first", milliseconds(times.first));
          decoder.feed(event.pcm);
        } else if (event.type === "text_done") {
          times.written = at;
          show(mode, "written", milliseconds(at));
        } else if (event.type === "error" || "error" in event) {
          throw new Error(event.message ?? event.error ?? "the agent failed");
        }
        if (!delta && (event.type !== "audio_chunk" || chunks === 1)) {
          const item = document.createElement("li");
          const clock = event.t_ms === undefined ? "" : ` (container: ${milliseconds(event.t_ms)})`;
          item.textContent = `${milliseconds(at)} ${event.type}${clock}${event.type === "sentence" ? ` ${event.text}` : ""}`;
          log.append(item);
        }
      }
    } catch (error) {
      if (signal.aborted || !chunks) throw error;
      failed = true;
      fail(error); // what came before it is heard to its end
    }
    await decoder?.end();
    signal.throwIfAborted();
    player.end();
    if (chunks) await played;
    signal.throwIfAborted();
    column.dataset.gaps = String(gaps);
    if (!failed) column.classList.add("complete");
  } catch (error) {
    decoder?.close();
    // what a newer question uses is no longer this one's: the player, and perhaps the column
    if (running.signal === signal) player.clear();
    if (latest[mode] === signal) fail(signal.aborted ? "stopped" : error);
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const mode = event.submitter?.value ?? "both";
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const prompt = form.elements.prompt.value;
  const format = form.elements.format.value;
  const call = form.elements.transport.value === "ws" ? talk : ask;
  form.classList.add("running");
  try {
    // one after the other: at once they would take each other's time, and speak at once
    for (const each of mode === "both" ? ["bidi", "batch"] : [mode]) {
      if (!signal.aborted) await run(each, prompt, format, call, signal);
    }
  } finally {
    if (running.signal === signal) form.classList.remove("running");
  }
});

document.querySelector("#stop").addEventListener("click", () => {
  running?.abort();
  player.clear();
  form.classList.remove("running");
});
document.body.dataset.ready = "true";
