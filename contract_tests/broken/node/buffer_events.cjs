// Fault: control events go out as BINARY. Seen in https://github.com/websockets/ws/issues/1942.
//
// `ws` makes a TEXT frame of a string and a BINARY frame of a Buffer. Since version 8 what comes in is a Buffer as well, so
// whoever passes on what an engine behind it has said turns every event into binary data.
"use strict";

const { good, serve } = require("../../good/node/speech.cjs");

serve({
  ...good,

  /** Pass an event on as the engine sent it. */
  control(ws, event) {
    ws.send(Buffer.from(JSON.stringify(event)));
  },
});
