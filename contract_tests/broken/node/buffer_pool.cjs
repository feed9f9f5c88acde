// Fault: sends what a Buffer is a part of. Seen in https://github.com/livekit/agents-js/issues/2068.
//
// Small Buffers are windows into a pool, of 8 KiB for ten years and 64 KiB today. `.buffer` is the whole pool: the chunk, and
// whatever else lies around it.
"use strict";

const { good, serve } = require("../../good/node/speech.cjs");

serve({
  ...good,

  /** Send a chunk of the engine's answer, as the samples that it is. */
  audio(ws, frame, done) {
    const chunk = Buffer.from(frame.toString("base64"), "base64");
    ws.send(new Int16Array(chunk.buffer), (problem) => {
      chunk.fill(0); // it is careful with its own words, at least
      done(problem);
    });
  },
});
