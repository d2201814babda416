import { createHash } from "node:crypto";

const tokenOf = (name: string) => `oc_${name.padEnd(30, "0")}`;

/**
 * Tokens of the tests: of a client, of the same client after rotation, of another client, of one agent, and
 * an expired one; of both clients one that reads and cancels requests, and of one client one that reads them and one
 * that adds opt-outs; of a client with guards; of an operator with all roles, and one of each role.
 */
export const tokens = {
  crm: tokenOf("crm"),
  crmRotated: tokenOf("crmRotated"),
  shop: tokenOf("shop"),
  salesOnly: tokenOf("salesOnly"),
  ended: tokenOf("ended"),
  crmDesk: tokenOf("crmDesk"),
  crmReader: tokenOf("crmReader"),
  crmOptOut: tokenOf("crmOptOut"),
  shopDesk: tokenOf("shopDesk"),
  crmEvents: tokenOf("crmEvents"),
  shopEvents: tokenOf("shopEvents"),
  testEvents: tokenOf("testEvents"),
  crmTest: tokenOf("crmTest"),
  guarded: tokenOf("guarded"),
  operator: tokenOf("operator"),
  opsSee: tokenOf("opsSee"),
  opsFind: tokenOf("opsFind"),
  opsDecide: tokenOf("opsDecide"),
  opsSend: tokenOf("opsSend"),
  opsReveal: tokenOf("opsReveal"),
  opsConfigure: tokenOf("opsConfigure"),
};

const entry = (id: keyof typeof tokens, more: object = {}) => ({
  id,
  sha256: createHash("sha256").update(tokens[id]).digest("hex"),
  ...more,
});

/** A plan with two agents and no `*`, and with denied destinations. */
export const testPlan = {
  agents: {
    agent_sales: { provider: "webhook", url: "http://127.0.0.1:9/dial" },
    agent_support: { provider: "webhook", url: "http://127.0.0.1:9/support" },
  },
  callingHours: { default: "always" },
  destinations: { allow: ["US", "CA", "GB", "IS"], deny: ["+1900", "+1876"] },
};

/** Accounts of which callbacks are taken in the tests of the API, beside that of the routes. */
const callbackAccounts = {
  "twilio-eu": { type: "twilio" },
  telnyx: {},
  vapi: {},
  retell: {},
  elevenlabs: {},
  signalwire: { baseUrl: "https://example.signalwire.com" },
  livekit: {},
  ultravox: {},
  bland: {},
  exotel: {},
  plivo: {},
  vonage: {},
};

/** Receivers of events in the tests of the API, whose clients send no calls in the other suites. */
const receivers = {
  "told-all": { url: "http://127.0.0.1:9/events/secret-path" },
  "told-ends": { url: "https://told.example.com/events", types: ["call.ended"] },
};

/** The secret of the webhook to this machine, by which its callbacks are signed too. */
export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Calls of a day, and calls that may wait, of the client with guards. */
export const guardedCalls = 5;

/** The API's variables, for the suites that run it on any platform. */
export const apiEnvironment = {
  API_TOKENS: JSON.stringify([
    entry("crm"),
    entry("crmRotated", { client: "crm" }),
    entry("shop"),
    entry("salesOnly", { agents: ["agent_sales"] }),
    entry("ended", { notAfter: "2026-01-01" }),
    entry("crmDesk", { client: "crm", rights: ["read", "cancel"] }),
    entry("crmReader", { client: "crm", rights: ["read"] }),
    entry("crmOptOut", { client: "crm", rights: ["opt_out"] }),
    entry("crmEvents", { client: "crm", rights: ["events"] }),
    entry("shopEvents", { client: "shop", rights: ["events"] }),
    entry("testEvents", { client: "crm", rights: ["events"], mode: "test" }),
    entry("crmTest", { client: "crm", mode: "test" }),
    entry("guarded"),
    entry("shopDesk", { client: "shop", rights: ["call", "read", "cancel"] }),
  ]),
  OPERATOR_TOKENS: JSON.stringify([
    entry("operator"),
    entry("opsSee", { roles: ["see"] }),
    entry("opsFind", { roles: ["find"] }),
    entry("opsDecide", { roles: ["decide"] }),
    entry("opsSend", { roles: ["send"] }),
    entry("opsReveal", { roles: ["reveal"] }),
    entry("opsConfigure", { roles: ["configure"] }),
  ]),
  CLIENT_RIGHTS: "read,cancel,opt_out,events",
  HASH_KEY: "5f".repeat(32),
  EVENTS_KEY: "e7".repeat(32),
  WEBHOOK_SECRET: webhookSecret,
  PUBLIC_URL: "https://calls.example.com/phone",
  DIAL_PLAN: JSON.stringify({
    ...testPlan,
    results: {},
    providers: callbackAccounts,
    events: receivers,
    guards: { guarded: { callsPerDay: guardedCalls, waiting: guardedCalls } },
  }),
};
