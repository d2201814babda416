/**
 * `npm run fixture`: stores what the version in package.json stores, on both platforms, in test/upgrade/fixtures, for the
 * tests of every later version. The same version makes the same fixture.
 */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { printHelp } from "#infra/cli/help.ts";
import packageJson from "#package.json" with { type: "json" };
import { accountNameOf, type Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { requestIdOf, toCallId } from "#shared/calls/ids.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import type { DocumentChange } from "#shared/ports/documents.ts";
import type { Kind } from "#shared/ports/document-kinds.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { toCallsMessage } from "../support/calls.ts";
import { fixturesFolder, readChangelog } from "../support/releases.ts";
import { type Calls, createCalls, createRows, routeOf, type StoredCall } from "./fixture-calls.ts";
import { createDocuments, epoch } from "./fixture-documents.ts";
import type { Fixture } from "./fixture.ts";
import { startAws, startCloudflare, type UpgradePlatform } from "./platforms.ts";
import { createService, type Service } from "./service.ts";

printHelp(`npm run fixture

Stores what the version in package.json stores on both platforms, in test/upgrade/fixtures. The same version makes the
same fixture. Refuses a released version.`);
const { version } = packageJson;
const storedAt = Date.parse("2026-11-20T15:00:00Z");
const key = "fixture-1";
/** Maximum length of an object that is written on one line, unless it is in a list. */
const lineMax = 200;

/** Returns ids that look random, and are the same each time. */
function createIds() {
  let made = 0;
  return { id: () => createHash("sha256").update(`id ${++made}`).digest("hex").slice(0, 32) };
}

type Made = Pick<Fixture, "rows" | "messages" | "keyed"> & {
  stored: Fixture["platforms"]["aws"];
};

/** Stores everything on one platform. */
async function storeOn(platform: UpgradePlatform): Promise<Made> {
  const random = createIds();
  const service = createService(platform, { startAt: storedAt, known: new Map(), random });
  const calls = createCalls(storedAt, random);
  const entries = createRows(calls, storedAt);
  const rowOf = (name: string): CallRow => {
    const row = entries[name]?.row;
    if (row === undefined) throw new Error(`there is no call ${name}`);
    return row;
  };
  const { ledger, documents } = service;
  const changes = Object.values(entries).map(({ row }) => ({ next: row, seen: null }));
  mustAll(await ledger.write(changes));
  await writeDocuments(entries, { documents, calls });
  await service.ask("/operator/pause", { agent_id: "agent_paused" });
  const number = rowOf("doNotCall").request?.phone_number;
  await service.ask("/operator/do-not-call", { add: [number] });

  const [keyedCall] = calls.request(1, "agent_sales");
  const body = keyedCall?.request;
  const accepted = await service.ask("/v1/calls", body, { "idempotency-key": key });
  const requestId = accepted.headers.get("x-request-id") ?? "";
  const messages = await sendMessages(service, calls, { rowOf, platform });
  messages["keyed"] = { id: toCallId(requestId, 0), ends: ["PLACED"], rings: 1 };

  await service.epochStore.write(epoch, 0);
  const { objects, tables } = await platform.dump();
  const queues: Fixture["platforms"]["aws"]["queues"] = {
    messages: [],
    events: [],
  };
  for (const { of, body: text } of service.waiting()) queues[of].push(text);
  const rows = Object.entries(entries).map(([name, { id, ends, rings, providerCallId }]) => [
    name,
    { id, ends, rings, ...(providerCallId === undefined ? {} : { providerCallId }) },
  ]);
  return {
    rows: Object.fromEntries(rows),
    messages,
    keyed: { key, body, requestId },
    stored: { tables, objects, queues },
  };
}

/** Writes a document of each kind. */
async function writeDocuments(
  entries: ReturnType<typeof createRows>,
  { documents, calls }: { documents: Service["documents"]; calls: Calls },
): Promise<void> {
  const rows = Object.fromEntries(Object.entries(entries).map(([name, { row }]) => [name, row]));
  const changes = Object.entries(createDocuments(rows, storedAt)).flatMap(([kind, byKey]) =>
    Object.entries(byKey).map(([name, document]): DocumentChange => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the table are the kinds
      const next = { kind: kind as Kind, key: name, version: calls.version(), ...document };
      return { next, seen: null };
    }),
  );
  mustAll(await documents.write(changes));
  const account = { kind: "pace", key: accountNameOf(routeOf("agent_sales")) } as const;
  const pace = { intervalUs: 1_000_000, burst: 1 };
  const request = { count: 2, notBefore: storedAt, notAfter: storedAt + 5_000 };
  await documents.takePermits(account, pace, request);
}

interface Sources {
  rowOf(name: string): CallRow;
  platform: UpgradePlatform;
}

/** Puts a message of every kind onto each queue, and whatever lies in the object store beside them. */
async function sendMessages(
  service: Service,
  calls: Calls,
  { rowOf, platform }: Sources,
): Promise<Record<string, StoredCall>> {
  const { queue, eventsQueue } = service;
  const sales = accountNameOf(routeOf("agent_sales"));
  const [redial, dead] = [
    calls.one("agent_sales", { ancestors: [rowOf("expired").id] }),
    calls.one("agent_sales"),
  ];
  const large = calls.request(3, "agent_sales");
  const claimOf = (name: string) => ({ id: rowOf(name).id, claim: rowOf(name).claims[0] ?? "" });
  const { id, claim } = claimOf("dialing");
  const call: Message[] = [
    toCallsMessage([redial]),
    { kind: "dispatch", rows: [{ id: rowOf("dispatched").id, account: sales }] },
    {
      kind: "outcome",
      settlement: {
        id,
        claim,
        state: "PLACED",
        reason: "placed",
        at: storedAt,
        providerCallId: `ring_${id}`,
      },
    },
  ];
  for (const message of call) await queue.send(message);
  const signed = {
    body: '{"type":"call.ended"}',
    headers: { "webhook-id": "msg_1" },
    receivedAt: storedAt,
  };
  const event: EventMessage[] = [
    { kind: "poll", account: "vapi", sentAt: storedAt, analyses: true },
    { kind: "poll", account: "vapi", sentAt: storedAt, live: accountNameOf(routeOf("agent_desk")) },
    {
      kind: "deliver",
      receiver: "crm",
      calls: [rowOf("optedOut").id, rowOf("forbidden").id],
      requests: [requestIdOf(rowOf("rejected").id)],
      sentAt: storedAt,
      swept: true,
      again: 1,
    },
    { kind: "test-event", receiver: "own:crm/main", id: "test_1", sentAt: storedAt },
    { kind: "callback", account: "vapi", callId: rowOf("polled").id },
    { kind: "callback", account: "vapi", call: claimOf("live") },
    { kind: "callback", account: "webhook", call: claimOf("called"), signed },
  ];
  for (const message of event) await eventsQueue.send(message);
  await storeObjects(service, platform, { large, dead, signed: event.at(-1) });
  const facts = (one: { id: string }): StoredCall => ({ id: one.id, ends: ["PLACED"], rings: 1 });
  return {
    redialed: facts(redial),
    ...Object.fromEntries(large.map((one, n) => [`large ${n}`, facts(one)])),
    dead: { id: dead.id, ends: ["NEEDS_REVIEW"], rings: 0 },
  };
}

/** Stores a claim check's object, and dead letters in each form in which they are kept. */
async function storeObjects(
  { put, deadLetters }: Service,
  platform: UpgradePlatform,
  { large, dead, signed }: { large: Call[]; dead: Call; signed: EventMessage | undefined },
): Promise<void> {
  const [first] = large;
  const text = JSON.stringify({
    kind: "request",
    requestId: first?.requestId,
    client: first?.client,
    acceptedAt: first?.acceptedAt,
    requests: large.map(({ request }) => request),
  });
  const name = "messages/6f0c2f7e-5d1f-4d55-8f0e-3c9d4b1a7e10";
  await platform.load({ tables: {}, objects: { [name]: text } });
  put("messages", [JSON.stringify({ kind: "claim_check", key: name })]);
  await deadLetters.store("calls-unreadable", JSON.stringify({ kind: "of-a-later-version" }));
  const letter = JSON.stringify(toCallsMessage([dead]));
  const event = JSON.stringify(signed);
  await deadLetters.store("calls-7", letter);
  await deadLetters.store("events-8", event);
}

function mustAll(written: readonly boolean[]): void {
  if (written.includes(false)) throw new Error("the engine took not everything");
}

/** Returns JSON with one line for each call, row, document, object and message. */
function toLines(value: unknown): string {
  const text = JSON.stringify(value);
  if (typeof value !== "object" || value === null || text.length <= lineMax) return text;
  if (Array.isArray(value)) {
    return `[\n${value.map((one) => JSON.stringify(one)).join(",\n")}\n]`;
  }
  const fields = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${toLines(one)}`,
  );
  return `{\n${fields.join(",\n")}\n}`;
}

/** Bundles this version's reader. Its tables of numbers and zones are left out: nothing stored is read by them. */
async function bundleReader(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["test/upgrade/reader.ts"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node24",
    legalComments: "none",
    write: false,
    plugins: [
      {
        name: "without-tables",
        setup({ onLoad }) {
          onLoad({ filter: /telephony\/[\w-]+\.json$/ }, () => ({
            contents: "{}",
            loader: "json",
          }));
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? "";
}

const isReleased = readChangelog(await readFile("CHANGELOG.md", "utf8")).some(
  (release) => release.version === version && release.isReleased,
);
if (isReleased) {
  throw new Error(
    `${version} is released, and what it has stored does not change: keep its fixture, and set the next version in package.json.`,
  );
}
const started = [await startCloudflare(), await startAws()] as const;
const [cloudflare, aws] = [await storeOn(started[0]), await storeOn(started[1])];
for (const platform of started) await platform.stop();
const { stored, ...facts } = cloudflare;
const { stored: storedOnAws, ...factsOnAws } = aws;
if (JSON.stringify(facts) !== JSON.stringify(factsOnAws)) {
  throw new Error("the platforms have stored different calls");
}
const fixture: Fixture = {
  version,
  storedAt,
  ...facts,
  platforms: { cloudflare: stored, aws: storedOnAws },
};
await writeFile(`${fixturesFolder}/${version}.json`, `${toLines(fixture)}\n`);
await writeFile(`${fixturesFolder}/${version}.reader.mjs`, await bundleReader());
