// Fault: JSON.parse outside a try. Seen in https://github.com/gristlabs/grist-core/pull/826.
//
// An exception in a 'message' listener has nobody to catch it: Node ends the process, and all conversations with it. Here
// as in most deployments something starts it again at once, so that /ping never shows it.
"use strict";

const { fork } = require("node:child_process");
const net = require("node:net");
const { pipeline } = require("node:stream");
const { good, serve } = require("../../good/node/speech.cjs");

/** Keep a worker alive, and connect the callers with it; while a new one comes up they wait. */
function supervise() {
  let port = 0;
  const start = () => fork(__filename).on("message", (its) => (port = its)).on("exit", start);
  const pass = (caller) => {
    const worker = net.connect(port, "127.0.0.1");
    worker.once("error", () => setTimeout(pass, 20, caller));
    worker.once("connect", () => {
      worker.removeAllListeners("error");
      pipeline(caller, worker, caller, () => {});
    });
  };
  start();
  good.listen(net.createServer(pass));
}

const work = {
  ...good,

  /** Look at the type of a message before it is known to be JSON. */
  converse(ws, steps) {
    let last = Promise.resolve();
    ws.on("message", (data) => {
      const request = JSON.parse(data);
      if (request?.type === "keepalive") return;
      last = last.then(() => steps.answer(ws, data, steps)).catch(() => ws.close(1011));
    });
    ws.on("error", (problem) => console.error(problem.message));
  },

  /** Take connections from the supervisor. */
  listen(server) {
    server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  },
};

if (process.send) serve(work);
else supervise();
