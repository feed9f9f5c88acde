// Fault: SIGTERM waits for the callers to leave. Seen in https://github.com/eneskirca/nodeterm/pull/162.
//
// `server.close()` takes no new connections and calls back when the last one has gone. An upgraded one is still a connection,
// and nobody closes it: SageMaker kills the process after 30 s.
"use strict";

const { good, serve } = require("../../good/node/speech.cjs");

serve({
  ...good,

  /** End the process once all is said. */
  stop(server) {
    process.on("SIGTERM", () => {
      server.close(() => process.exit(0));
    });
  },
});
