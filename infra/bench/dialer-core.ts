/**
 * The dialer's core in a process of its own: deliveries of a hundred calls, the real webhook and fetch, and the log.
 * By its environment: PROVIDER_URL, CALLS (a round), LANES, CONNECTION (`close`: one for each request, as on Lambda);
 * TABLE, of the DynamoDB at AWS_ENDPOINT_URL_DYNAMODB, where the ledger is not in memory.
 */
import { randomBytes } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type DialerDeps, systemClock } from "../../functions/dialer/dialer.ts";
import { handleDelivery } from "../../functions/dialer/handle-delivery.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { consoleLog as log } from "../../shared/log.ts";
import { createProviders } from "../../shared/providers/index.ts";
import type { Delivered } from "../../shared/queue/call-queue.ts";
import { createMemoryQueue } from "../../shared/queue/memory-queue.ts";
import { randomId } from "../../shared/random-id.ts";
import { readDialerSettings } from "../../shared/settings.ts";
import { callRequest } from "./competitors/payload.ts";
import { answer, ready } from "./competitors/side.ts";
import { cpuOf } from "./measure.ts";

const deliverySize = 100;
const invocationMs = 600_000;
const { PROVIDER_URL, CALLS, LANES, CONNECTION, TABLE } = process.env;

const plan = {
  agents: { "*": { provider: "webhook", url: PROVIDER_URL } },
  callingHours: { default: "always" },
  destinations: { allow: ["*"] },
};
const environment = {
  DIAL_PLAN: JSON.stringify(plan),
  HASH_KEY: randomBytes(32).toString("hex"),
  WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
};
const closing: typeof fetch = (input, init) =>
  fetch(input, { ...init, headers: { ...Object(init?.headers), connection: "close" } });
const now = Date.now;
const providerOptions = {
  environment,
  fetch: CONNECTION === "close" ? closing : fetch,
  now,
  print: console.log,
};
const queue = createMemoryQueue(now);
const client = TABLE === undefined ? undefined : new DynamoDBClient({});
/** One in memory is left behind after each round: what it has kept would be the garbage collector's to go through. */
const newLedger = () =>
  client === undefined || TABLE === undefined
    ? createMemoryLedger()
    : createDynamoLedger(client, TABLE, 60 * 86_400_000);
const deps: DialerDeps = {
  queue,
  ledger: newLedger(),
  settings: readDialerSettings(
    environment,
    undefined,
    (routes) => createProviders(providerOptions, routes),
    log,
  ),
  clock: systemClock,
  random: { token: randomId, fraction: Math.random },
  lanes: Number(LANES),
  log,
};

let made = 0;
let waiting: Delivered[] = [];
answer({
  /** Puts a round's calls onto the queue. */
  async prepare() {
    deps.ledger = newLedger();
    for (let n = 0; n < Number(CALLS); n++) {
      const id = `call_${randomBytes(16).toString("hex")}`;
      const request = callRequest(made++);
      const call = { id, requestId: "req_bench", client: "crm", acceptedAt: now(), request };
      await queue.send({ kind: "call", call });
    }
    waiting = queue.take();
  },
  /** Dials them, one delivery after the other. */
  async dial() {
    const start = performance.now();
    const cpuUs = await cpuOf(async () => {
      while (waiting.length > 0) {
        const delivery = waiting.splice(0, deliverySize);
        const answers = await handleDelivery(delivery, deps, now() + invocationMs);
        if (answers.some((one) => one !== "acknowledge")) throw new Error("calls were handed back");
      }
    });
    return { cpuUs, ms: performance.now() - start };
  },
  async rest() {
    if (queue.take().length > 0) throw new Error("calls are left");
  },
});
ready();
