// Fault: closes without a code. Seen in https://github.com/lukeed/sockette/issues/3.
//
// `ws.close()` sends an empty Close frame. Libraries call that 1005, "no code although one was expected", and the caller
// cannot tell the end of the conversation from any other one.
"use strict";

const { good, serve } = require("../../good/node/speech.cjs");

serve({
  ...good,

  /** End the conversation. */
  close(ws) {
    ws.close();
  },
});
