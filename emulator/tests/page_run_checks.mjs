// Checks of what becomes of a question, under Node: node page_run_checks.mjs FOLDER
// Document, sound and agent are stand-ins, so that it can be told when audio ends; the browser's own are in
// test_page_chromium.py.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const elements = new Map();

function element(selector) {
  if (!elements.has(selector)) {
    const classes = new Set();
    const listeners = {};
    elements.set(selector, {
      classes,
      classList: {
        add: (name) => classes.add(name),
        remove: (...names) => names.forEach((name) => classes.delete(name)),
      },
      dataset: {},
      textContent: "",
      elements: { prompt: { value: "Why?" }, format: { value: "pcm16" }, transport: { value: "sse" } },
      addEventListener: (name, listener) => {
        listeners[name] = listener;
      },
      fire: (name, event) => listeners[name](event),
      querySelector: (inner) => element(`${selector} ${inner}`),
      replaceChildren: () => {},
      append: () => {},
    });
  }
  return elements.get(selector);
}

const events = [{ type: "agent_start", format: "pcm16" }, { type: "audio_chunk", data: "AAAA" }, { type: "done" }];
const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const broken = { resume: false, addModule: false };
let port = null;
let ends = 0; // how often the player was told that nothing more comes

async function fail(what) {
  if (broken[what]) throw new Error(`no sound: ${what}`);
}

Object.assign(globalThis, {
  document: { querySelector: element, createElement: () => ({}), body: { dataset: {} } },
  fetch: async (path) =>
    path === "config.json"
      ? { json: async () => ({ agents: [{ path: "/agent" }], token: "t" }) }
      : { ok: true, body: new Blob([stream]).stream() },
  AudioContext: class {
    audioWorklet = { addModule: () => fail("addModule") };
    resume = () => fail("resume");
  },
  AudioWorkletNode: class {
    constructor() {
      port = this.port = { postMessage: ({ end }) => (ends += end ? 1 : 0) };
    }
    connect() {}
  },
});
await import(new URL("app.js", pathToFileURL(`${process.argv[2]}/`)));

const column = element("#bidi");
const error = element("#bidi .error");
const form = element("form");

async function until(condition) {
  for (let turn = 0; !condition(); turn += 1) {
    assert.ok(turn < 1000, `never: ${condition}; ${[...column.classes, ...form.classes]}; ${error.textContent}`);
    await new Promise(setImmediate);
  }
}

const submit = () => form.fire("submit", { preventDefault: () => {}, submitter: { value: "bidi" } });

/** Asks, and resolves when all of the answer is there and its audio plays. */
async function ask() {
  const before = ends;
  submit();
  await until(() => ends > before);
}

const checks = {
  async "what has no sound says so, and the next question tries again"() {
    for (const what of ["addModule", "resume"]) {
      broken[what] = true;
      submit();
      await until(() => column.classes.has("failed"));
      assert.equal(error.textContent, `no sound: ${what}`);
      await until(() => !form.classes.has("running"));
      broken[what] = false;
      await ask();
      assert.equal(error.textContent, "");
      port.onmessage({ data: { ended: 1 } });
      await until(() => column.classes.has("complete") && !form.classes.has("running"));
    }
  },
  async "what is stopped while its audio plays is stopped, not complete"() {
    await ask();
    element("#stop").fire("click");
    await until(() => column.classes.size);
    assert.deepEqual([...column.classes], ["failed"]);
    assert.equal(error.textContent, "stopped");
    assert.ok(!form.classes.has("running"));
  },
  async "a question while audio plays has the column to itself"() {
    await ask();
    await ask();
    assert.deepEqual([...column.classes], []);
    assert.ok(form.classes.has("running"));
    port.onmessage({ data: { ended: 1 } });
    await until(() => !form.classes.has("running"));
    assert.deepEqual([...column.classes], ["complete"]);
    assert.equal(error.textContent, "");
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`ok ${name}`);
}
