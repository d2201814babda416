import { randomUUID } from "node:crypto";
import type { StandInType } from "./endpoint.ts";
import { createApi } from "./twilio.ts";

/**
 * SignalWire's API that is compatible with Twilio's (https://signalwire.com/docs/compatibility-api/rest/calls/create-a-call):
 * its paths begin with `/api/laml`, also that of a list's next page, and its ids are UUIDs.
 */
export const signalwire: StandInType = {
  name: "signalwire",
  secrets: { PROJECT_ID: "00000000-0000-4000-8000-000000000000", API_TOKEN: "PTstandin" },
  create: (memory) =>
    createApi(memory, {
      root: "/api/laml",
      createId: randomUUID,
      account: memory.secrets["PROJECT_ID"] ?? "",
      password: memory.secrets["API_TOKEN"] ?? "",
    }),
};
