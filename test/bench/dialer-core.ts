/**
 * The dialer's core in a process of its own: deliveries of a hundred calls, the real webhook, and the
 * log. Environment: PROVIDER_URL, CALLS (per round), CONCURRENCY, CLIENT (`fetch`, which keeps connections open, or by
 * default the client that Lambda has, with a connection for each request), and TABLE, in the DynamoDB at AWS_ENDPOINT_URL_DYNAMODB, if the ledger is not in
 * memory.
 */
import { consumeCalls } from "#test/support/entries.ts";
import { createMemoryJournal } from "../support/memory-journal.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { createMemoryDeadLetters } from "../support/memory-dead-letters.ts";
import { createMemoryEpochStore } from "../support/memory-epoch-store.ts";
import { randomBytes } from "node:crypto";
import { createDynamoClient } from "#shared/aws/dynamodb-client.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { localCredentials, localRegion } from "#infra/local/aws-engines.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { connect, systemClock } from "#functions/dialer/wiring.ts";
import { createRequestId } from "#shared/calls/ids.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { workerLog as log } from "#shared/lib/log.ts";
import type { Delivered } from "#shared/ports/queue.ts";
import { createMemoryQueue } from "../support/memory-queue.ts";
import { type CallsMessage, messageCallsMax } from "#shared/ports/call-messages.ts";
import { sendByNode } from "#shared/aws/node-client.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { valueOf } from "#shared/settings/settings.ts";
import { readDialerSettings } from "../support/plans.ts";
import { callRequest } from "./competitors/payload.ts";
import { answer, ready } from "./competitors/side.ts";
import { cpuOf } from "./measure.ts";

/** Messages per delivery, each with 25 calls. */
const invocationMs = 600_000;
const { PROVIDER_URL, CALLS, CONCURRENCY, CLIENT, TABLE } = process.env;
/** Fresh calls of one delivery: those that go at once. */
const freshCalls = Math.min(messageCallsMax, Number(CONCURRENCY));

const plan = {
  agents: { "*": { provider: "webhook", url: PROVIDER_URL } },
  callingHours: { default: "always" },
  destinations: { allow: ["*"] },
};
const environment = {
  DIAL_PLAN: JSON.stringify(plan),
  HASH_KEY: randomBytes(32).toString("hex"),
  EVENTS_KEY: "e7".repeat(32),
  WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
};
const now = Date.now;
const providerOptions = {
  environment,
  fetch: CLIENT === "fetch" ? fetch : sendByNode,
  now,
  print: console.log,
};
const queue = createMemoryQueue(now);
const client = createDynamoClient({
  account: { credentials: localCredentials, region: localRegion },
  endpoint: process.env["AWS_ENDPOINT_URL_DYNAMODB"],
});
/** Ports in memory are replaced before each round: the garbage collector would have to go through their contents. */
const newPorts = () =>
  TABLE === undefined
    ? { ledger: createMemoryLedger(), documents: createMemoryDocuments(now, randomVersion) }
    : {
        ledger: createDynamoLedger(client, TABLE, { retentionMs: 60 * 86_400_000 }),
        documents: createDynamoDocuments(client, TABLE, { now, freshVersion: randomVersion }),
      };
const deps: DialerDeps = {
  queue,
  eventsQueue: createMemoryQueue<EventMessage>(now),
  ...newPorts(),
  epochStore: createMemoryEpochStore(),
  journal: createMemoryJournal(),
  deadLetters: {
    ...createMemoryDeadLetters(),
    store: () => Promise.reject(new Error("a message was given up")),
  },
  settings: valueOf(
    readDialerSettings(
      environment,
      { bundledPlan: undefined, connect: (used) => connect(providerOptions, used) },
      log,
    ),
  ),
  clock: systemClock,
  random: { version: randomVersion, fraction: Math.random },
  concurrency: Number(CONCURRENCY),
  consumers: 1,
  statementsLeft: () => Infinity,
  dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: true },
  sweepSeconds: 60,
  log,
  memory: createDialerMemory(),
};

let made = 0;
let waiting: Delivered[] = [];
/** Time that a round takes at most. It must not be over before its last calls are fresh, which go at once. */
const roundMsMax = 60_000;
function messageOfFresh(count: number): CallsMessage {
  return {
    kind: "calls",
    requestId: createRequestId(now(), randomId()),
    client: "crm",
    acceptedAt: now() + roundMsMax,
    calls: Array.from({ length: count }, (_, index) => ({ index, request: callRequest(made++) })),
  };
}

/** Makes the account known as quick: calls of one that has never answered wait for a dispatcher. */
async function knowAccount(): Promise<void> {
  const [route] = Object.values(deps.settings.plan.agents);
  if (route === undefined) throw new Error("the plan has no agent");
  const key = accountNameOf(route);
  const value = { busy: false, quick: true };
  const next = { kind: "account" as const, key, value, expiresAt: null, version: randomVersion() };
  const { documents } = deps;
  const seen = (await documents.read([next])).get("account", key)?.version ?? null;
  await documents.write([{ next, seen }]);
}

answer({
  /** Puts a round's calls onto the queue. */
  async prepare() {
    Object.assign(deps, newPorts());
    await knowAccount();
    for (let left = Number(CALLS); left > 0; left -= freshCalls) {
      await queue.send(messageOfFresh(Math.min(left, freshCalls)));
    }
    waiting = queue.take();
  },
  /** Dials the calls, one delivery after the other. */
  async dial() {
    const start = performance.now();
    const cpuUs = await cpuOf(async () => {
      while (waiting.length > 0) {
        const delivery = waiting.splice(0, 1);
        const answers = await consumeCalls(delivery, deps, now() + invocationMs);
        if (answers.some((one) => one !== "ack")) throw new Error("calls were handed back");
      }
    });
    return { cpuUs, ms: performance.now() - start };
  },
  async rest() {
    if (queue.take().length > 0) throw new Error("calls are left");
  },
});
ready();
