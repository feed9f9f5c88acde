// Stand-in for a voice: a sine as long as the text, computed in a thread of its own, so that the event loop stays free.
"use strict";

const { Worker, isMainThread, parentPort } = require("node:worker_threads");

const SECONDS_PER_CHARACTER = 0.02;
const SHORTEST_S = 0.25;
const RAMP_S = 0.01;
const PEAK = 0.5;
const LOWEST_HZ = 180;

/** Signed 16-bit little-endian mono PCM of `text`, empty where it holds nothing to speak; the voice sets the pitch. */
function tone({ text, voice, speed, rate }) {
  if (!/[\p{L}\p{N}]/u.test(text)) return new Int16Array(0);
  const samples = Math.round((Math.max(SHORTEST_S, [...text].length * SECONDS_PER_CHARACTER) / speed) * rate);
  const semitone = [...voice].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 12;
  const turn = (2 * Math.PI * LOWEST_HZ * 2 ** (semitone / 12)) / rate;
  return Int16Array.from({ length: samples }, (_, at) => {
    const ramp = Math.min(1, Math.min(at, samples - 1 - at) / (RAMP_S * rate));
    return Math.round(32767 * PEAK * Math.sin((Math.PI / 2) * ramp) ** 2 * Math.sin(turn * at));
  });
}

if (isMainThread) {
  const thread = new Worker(__filename);
  const waiting = [];
  thread.on("message", (samples) => waiting.shift()(Buffer.from(samples.buffer)));
  /** Resolve to the PCM of one request as a Buffer. */
  exports.speak = (request) =>
    new Promise((done) => {
      waiting.push(done); // the thread answers in order
      thread.postMessage(request);
    });
} else {
  parentPort.on("message", (request) => parentPort.postMessage(tone(request)));
}
