// Fault: sends what a Buffer is a part of. Seen in https://github.com/livekit/agents-js/issues/2068.
//
// Small Buffers are windows into a pool, of 8 KiB for ten years and 64 KiB today. `.buffer` is the whole pool: the chunk, and
// whatever else lies around it. The pool is made by hand here: Node's own holds something else each time.
"use strict";

const { good, serve } = require("../../good/node/speech.cjs");

serve({
  ...good,

  /** Send a chunk of the engine's answer, as the samples that it is. */
  audio(ws, frame, done) {
    const pool = Buffer.alloc(8 << 10);
    const chunk = pool.subarray(0, frame.copy(pool));
    ws.send(new Int16Array(chunk.buffer), done);
  },
});
