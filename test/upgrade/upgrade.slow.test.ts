import { waitPatiently } from "#test/support/patience.ts";
import { readRows } from "#test/support/reads.ts";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { eventIdOf, finishedEventIdOf } from "#shared/events/outbox-rows.ts";
import type { StoredCall } from "./fixture-calls.ts";
import { requestIdOf, toCallId } from "#shared/calls/ids.ts";
import { callStates } from "#shared/calls/states.ts";
import { randomId } from "#shared/lib/random.ts";
import type { QueueHandler } from "#functions/dialer/handlers.ts";
import { type ReadableFixture, readFixtures } from "./fixture.ts";
import { addLater, addUnreadable, findLater, laterField, versionOf } from "./later.ts";
import { startAws, startCloudflare, type StoredParts, type UpgradePlatform } from "./platforms.ts";
import { createService, type Service } from "./service.ts";

const starts = { cloudflare: startCloudflare, aws: startAws };

const cases = (await readFixtures()).flatMap((fixture) =>
  (["cloudflare", "aws"] as const).map((name) => ({ fixture, name, version: fixture.version })),
);

beforeAll(waitPatiently);

describe.each(cases)("what $version has stored on $name", ({ fixture, name }) => {
  const stored = { ...fixture.rows, ...fixture.messages };
  let platform: UpgradePlatform;
  let service: Service;
  beforeEach(async () => {
    platform = await starts[name]();
    service = await resume(fixture, platform);
  });
  afterEach(() => platform.stop());

  it("is processed while new calls come, and is read by its version after a roll-back", async () => {
    const pending = pendingIn(await platform.dump(), platform, fixture);
    await readLists(service, idsIn(fixture.rows));
    await readCalls(service, idsIn(fixture.rows));
    const fresh = await accept(service, fixture);
    await service.pass(6);
    await readCalls(service, idsIn(stored));

    const rows = await rowsOf(service, [...Object.values(stored), ...fresh]);
    expectEnds(rows, fixture);
    expect(new Set(fresh.map(({ id }) => rows.get(id)?.state))).toEqual(new Set(["PLACED"]));
    expectRungOnce(service, [...Object.values(stored), ...fresh]);
    expect(service.told).toEqual(expect.arrayContaining(pending));
    expect(service.waiting().filter(({ attempt }) => attempt > 1)).toEqual([]);
    // The stored dead letter of a later version is tried once.
    const alarms = ["message.dead_lettered", "message.unreadable", "call.needs_review"];
    expect(alarmsOf(service)).toEqual(new Set(alarms));

    const now = await platform.dump();
    expectReadable(now, platform, fixture);
    expectKept(fixture.platforms[name], now);
    await expectSentReadable(service, platform, fixture);
  });

  it("keeps what a later version has added to it, and waits with what only that one can read", async () => {
    const { rows, documents } = await addLater(service, platform, fixture);
    const later = await addUnreadable(service, fixture);
    await service.pass(5);

    expectEnds(await rowsOf(service, Object.values(stored)), fixture);
    expectRungOnce(service, Object.values(stored));
    const now = await platform.dump();
    const keptRows = platform
      .readRows(now, fixture.reader)
      .filter((row) => row !== undefined && laterField in row);
    expect(new Set(keptRows.map((row) => row?.id))).toEqual(new Set(rows));
    const { kept, lost } = await findLater(service, documents);
    expect(lost).toEqual([]);
    expect(kept.length).toBeGreaterThan(15);

    // Nothing was lost of what cannot be read, and nothing was done with it.
    expect(await versionOf(later.breaker, service)).toBe(later.breaker.version);
    const { unreadable } = await service.ledger.read(later.rows);
    expect(unreadable).toEqual(new Set(later.rows));
    const waits = service.waiting().filter(({ attempt }) => attempt > 1);
    expect(new Set(waits.map(({ body }) => body))).toEqual(new Set(later.bodies));
    for (const alarm of ["row.unreadable", "message.unreadable", "document.unreadable"]) {
      expect(alarmsOf(service)).toContain(alarm);
    }
  });
});

/** Starts this version over what was stored. */
async function resume(fixture: ReadableFixture, platform: UpgradePlatform): Promise<Service> {
  const { queues, ...parts } = fixture.platforms[platform.name];
  await platform.load(parts);
  const known = Object.values(fixture.rows).flatMap(({ id, providerCallId }) =>
    providerCallId === undefined ? [] : [[id, providerCallId] as const],
  );
  const world = { startAt: fixture.storedAt, known: new Map(known), random: { id: randomId } };
  const service = createService(platform, world);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys are those of the type
  for (const name of Object.keys(queues) as QueueHandler[]) service.put(name, queues[name]);
  return service;
}

const idsIn = (stored: Record<string, StoredCall>) => Object.values(stored).map(({ id }) => id);

async function expectAnswers({ ask }: Service, paths: readonly string[]): Promise<void> {
  for (const path of paths) expect([path, (await ask(path)).status]).toEqual([path, 200]);
}

/** Reads calls as their client and an operator may. */
async function readCalls(service: Service, ids: readonly string[]): Promise<void> {
  const requests = new Set(ids.map(requestIdOf));
  await expectAnswers(service, [
    ...[...requests].map((id) => `/v1/requests/${id}`),
    ...ids.map((id) => `/operator/calls/${id}`),
  ]);
}

/** Reads the lists of operators, which must have all stored calls. */
async function readLists(service: Service, ids: readonly string[]): Promise<void> {
  const names = ["audit", "backlogs", "counts", "events", "pauses", "plan", "restored", "why"];
  const requests = [...new Set(ids.slice(0, 3).map(requestIdOf))];
  await expectAnswers(service, [
    ...names.map((name) => `/operator/${name}`),
    ...requests.map((id) => `/operator/requests/${id}`),
    "/operator/requests?calls_min=1&limit=3",
  ]);
  const listed: string[] = [];
  for (const state of callStates) {
    const { body } = await service.ask(`/operator/calls?state=${state}&limit=100`);
    listed.push(...body.calls.map((call: { id: string }) => call.id));
  }
  expect(listed).toEqual(expect.arrayContaining([...ids]));
}

/** Has new calls accepted: one, a batch that takes a claim check, and the repeat of a stored one. */
async function accept(
  { ask }: Service,
  { keyed }: ReadableFixture,
): Promise<{ id: string; rings: 0 | 1 }[]> {
  const call = (n: number, context = {}) => ({
    phone_number: `+12025550${n}`,
    agent_id: "agent_sales",
    context,
  });
  const batch = Array.from({ length: 30 }, (_, n) => call(160 + n, { text: "x".repeat(8_000) }));
  const answers = [await ask("/v1/calls", call(159)), await ask("/v1/calls/batch", batch)];
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  const repeated = await ask("/v1/calls", keyed.body, { "idempotency-key": keyed.key });
  expect(repeated.headers.get("x-request-id")).toBe(keyed.requestId);
  expect(repeated.headers.get("idempotency-replayed")).toBe("true");
  const idOf = (answer: (typeof answers)[number] | undefined, index: number) =>
    toCallId(answer?.headers.get("x-request-id") ?? "", index);
  const [single, many] = answers;
  return [single, ...batch.map(() => many)].map((answer, n) => ({
    id: idOf(answer, Math.max(0, n - 1)),
    rings: 1,
  }));
}

async function rowsOf(
  { ledger }: Service,
  calls: readonly { id: string }[],
): Promise<Map<string, CallRow>> {
  return readRows(
    ledger,
    calls.map(({ id }) => id),
  );
}

/** Asserts that no phone has rung more often than it may, and no other phone at all. */
function expectRungOnce({ rung }: Service, calls: readonly { id: string; rings: number }[]): void {
  const times = Map.groupBy(rung, ({ id }) => id);
  const tooOften = calls.filter(({ id, rings }) => (times.get(id)?.length ?? 0) > rings);
  expect(tooOften).toEqual([]);
  const known = new Set(calls.map(({ id }) => id));
  expect(rung.filter(({ id }) => !known.has(id))).toEqual([]);
}

/** Asserts that each stored call is in a state in which it may be by now. */
function expectEnds(now: Map<string, CallRow>, { rows, messages, remedy }: ReadableFixture): void {
  const stored = Object.entries({ ...rows, ...messages });
  const states = stored.map(([of, { id, ends }]) => {
    const row = now.get(id);
    return [of, row && ends.includes(row.state) ? "as it may be" : `${row?.state} ${row?.reason}`];
  });
  expect(states, remedy).toEqual(stored.map(([of]) => [of, "as it may be"]));
}

/** Returns the names of the alarms so far. */
const alarmsOf = ({ events }: Service) =>
  new Set(events.filter(({ level }) => level === "alarm").map(({ event }) => event));

/** Returns the ids of the events that stored rows and requests have pending. */
function pendingIn(parts: StoredParts, platform: UpgradePlatform, { reader }: ReadableFixture) {
  const ofRows = platform.readRows(parts, reader).flatMap((row) => {
    if (row === undefined) return [];
    return row.events
      .filter(({ dueAt }) => dueAt !== undefined)
      .map((event) => eventIdOf(row, event));
  });
  const ofRequests = platform
    .readDocuments(parts, reader)
    .filter(({ kind, value }) => kind === "request" && value["dueAt"] !== undefined)
    .map(({ key }) => finishedEventIdOf(key));
  expect(ofRows.length).toBeGreaterThan(0);
  expect(ofRequests.length).toBeGreaterThan(0);
  return [...ofRows, ...ofRequests];
}

/** Asserts that the reader of the stored version reads everything as it stands now. */
function expectReadable(
  now: StoredParts,
  platform: UpgradePlatform,
  { reader, remedy }: ReadableFixture,
): void {
  expect(
    platform.readRows(now, reader).filter((row) => row === undefined),
    remedy,
  ).toEqual([]);
  expect(() => platform.readDocuments(now, reader), remedy).not.toThrow();
}

/** Asserts that the reader of the stored version reads every message that this version has sent. */
async function expectSentReadable(
  { sent }: Service,
  platform: UpgradePlatform,
  { reader, remedy, platforms }: ReadableFixture,
): Promise<void> {
  const kinds = new Set<string>();
  const formOf = (body: string) => JSON.stringify(Object.keys(JSON.parse(body)));
  const isClaimCheck = (body: string) => body.startsWith('{"kind":"claim_check"');
  const claimChecks = platforms[platform.name].queues.messages.filter(isClaimCheck).map(formOf);
  for (const { of, body } of sent) {
    if (isClaimCheck(body)) expect(claimChecks, remedy).toContain(formOf(body));
    const text = await platform.toDelivered({ id: "m", body, attempt: 1 }).open();
    const read = of === "messages" ? reader.readMessage : reader.readEventMessage;
    expect(() => kinds.add(read(text).kind), remedy).not.toThrow();
  }
  expect(sent.some(({ body }) => isClaimCheck(body))).toBe(true);
  expect([...kinds]).toEqual(expect.arrayContaining(["calls", "dispatch", "deliver"]));
}

/** Asserts that orders, the do-not-call list and dead letters are still there, and no row is gone. */
function expectKept(before: StoredParts, now: StoredParts): void {
  const keysOf = ({ tables, objects }: StoredParts) => [
    ...Object.values(tables).flatMap((rows) =>
      rows.map((row) => JSON.stringify([row["id"], row["kind"], row["key"], row["pk"], row["sk"]])),
    ),
    ...Object.keys(objects),
  ];
  const current = new Set(keysOf(now));
  const gone = keysOf(before).filter((key) => !current.has(key));
  expect(gone.filter((key) => !mayGo.test(key))).toEqual([]);
}

/** Stored things that are done with: an older epoch, dead letters that were handled, tracked and told requests, replays. */
const mayGo =
  /^epoch\/|^dead-letters\/(calls-7|events-8)$|"(doc#)?(request|breaker|backlog|replay)["#]/;
