import { createServer } from "node:http2";
import * as restate from "@restatedev/restate-sdk";
import { dial } from "../dial.ts";

const calls = restate.service({
  name: "calls",
  handlers: {
    place: async (context: restate.Context, call: unknown) => {
      await context.run("dial", () => dial(call));
    },
  },
});
const endpoint = restate.createEndpointHandler({ services: [calls] });
createServer(endpoint).listen(Number(process.env["PORT"]), "127.0.0.1");
