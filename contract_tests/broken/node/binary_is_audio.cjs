// Fault: only TEXT frames are taken for requests. Seen in https://github.com/kirodotdev/KiroCrew/issues/6222.
//
// "Text is JSON, binary is audio" holds between a browser and this server. SageMaker delivers a part without DataType in a
// BINARY frame, JSON or not: the request is kept as audio that nobody will ever ask for.
"use strict";

const { good, serve } = require("../../good/node/speech.cjs");

serve({
  ...good,

  /** Answer text, and collect the rest. */
  converse(ws, steps) {
    const audio = [];
    let last = Promise.resolve();
    ws.on("message", (data, isBinary) => {
      if (isBinary) return audio.push(data);
      last = last.then(() => steps.answer(ws, data, steps)).catch(() => ws.close(1011));
    });
    ws.on("error", (problem) => console.error(problem.message));
  },
});
