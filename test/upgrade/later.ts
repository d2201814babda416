import { expect } from "vitest";
import { backlogOf, type CallRow } from "#shared/calls/call-row.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { backlogBreakerOf } from "#shared/policy/breakers.ts";
import {
  counterKinds,
  type DocumentKey,
  type Kind,
  type StoredDocument,
} from "#shared/ports/document-kinds.ts";
import { aLaterRow, aRowIn } from "../support/call-rows.ts";
import { aCall, toCallsMessage } from "../support/calls.ts";
import type { ReadableFixture } from "./fixture.ts";
import type { UpgradePlatform } from "./platforms.ts";
import type { Service } from "./service.ts";

/** A field that no version knows. */
export const laterField = "laterField";
/** Kinds whose documents have counters alone, or one number. */
const ofNumbers: ReadonlySet<string> = new Set([...counterKinds, "pace"]);

/** Adds a field that this version does not know to each row and document, as a later version would. */
export async function addLater(
  { ledger, documents }: Service,
  platform: UpgradePlatform,
  { rows: stored, reader }: ReadableFixture,
) {
  const { rows } = await ledger.read(Object.values(stored).map(({ id }) => id));
  const changes = rows.map((row) => ({
    next: { ...row, version: randomVersion(), [laterField]: { a: [1] } },
    seen: row.version,
  }));
  expect(await ledger.write(changes)).not.toContain(false);
  const found = platform
    .readDocuments(await platform.dump(), reader)
    .filter(({ kind }) => !ofNumbers.has(kind));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the reader has parsed its kind
  const names = found.map(({ kind, key }): DocumentKey => ({ kind: kind as Kind, key }));
  for (const { kind, key } of names) {
    const current = (await documents.read([{ kind, key }])).get(kind, key);
    if (current === undefined) throw new Error(`${kind} ${key} has expired`);
    const next = {
      ...current,
      version: randomVersion(),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a value of its kind, and more
      value: { ...current.value, [laterField]: { a: [1] } } as typeof current.value,
    };
    expect(await documents.write([{ next, seen: current.version }])).toEqual([true]);
  }
  return { rows: rows.map(({ id }) => id), documents: names };
}

/** Returns which of the documents still have the field that was added to them. One that has ended meanwhile is neither. */
export async function findLater({ documents }: Service, names: readonly DocumentKey[]) {
  const kept: DocumentKey[] = [];
  const lost: DocumentKey[] = [];
  for (const name of names) {
    if (isSpoiled(name)) continue;
    const current = (await documents.read([name])).get(name.kind, name.key);
    if (current !== undefined) (laterField in current.value ? kept : lost).push(name);
  }
  return { kept, lost };
}

/** Returns the version of a document that cannot be read. */
export async function versionOf({ kind, key }: DocumentKey, { documents }: Service) {
  const listed = await documents.list(kind, { limit: 100 });
  return listed.find((one) => one.key === key)?.version;
}

/** Adds rows and messages that only a later version can read. */
export async function addUnreadable(service: Service, { storedAt }: ReadableFixture) {
  const at = { acceptedAt: storedAt - 60_000, dueAt: storedAt - 1000 };
  const later = [
    aLaterRow(at),
    aLaterRow({ ...at, lane: watchLane }),
    aRowIn("UNKNOWN", {
      ...at,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type must be an unknown one
      route: { type: "later", account: "later" } as unknown as CallRow["route"],
    }),
  ];
  expect(await service.ledger.write(later.map((next) => ({ next, seen: null })))).not.toContain(
    false,
  );
  const breaker = await spoilBreaker(service);
  const call = aCall({ acceptedAt: storedAt });
  const bodies = {
    messages: [
      { kind: "later" },
      { ...toCallsMessage([call]), laterField: 1 },
      { kind: "dispatch", rows: [{ id: call.id, account: "a", laterField: 1 }] },
    ],
    events: [{ kind: "later" }, { kind: "poll", account: "vapi", sentAt: 1, laterField: 1 }],
  };
  const texts = { messages: bodies.messages.map(toText), events: bodies.events.map(toText) };
  service.put("messages", texts.messages);
  service.put("events", texts.events);
  return { breaker, rows: later.map(({ id }) => id), bodies: [...texts.messages, ...texts.events] };
}

const toText = (body: object) => JSON.stringify(body);

/** The backlog whose breaker only a later version can read. */
const of = { client: "crm", agentId: "agent_later" };
const isSpoiled = ({ kind, key }: DocumentKey) =>
  kind === "breaker" && key === backlogBreakerOf(of);

/** Brings the breaker of a backlog into a state that no version knows. The calls of all others must go on. */
async function spoilBreaker({ documents }: Service): Promise<StoredDocument> {
  const name = { kind: "breaker", key: backlogBreakerOf(of) } as const;
  const current = (await documents.read([name])).get(name.kind, name.key);
  if (current === undefined) throw new Error("the fixture has no such breaker");
  const usedAt = current.value.openedAt;
  const backlog = {
    kind: "backlog",
    key: backlogOf(of),
    version: randomVersion(),
    value: { ...of, mode: "live", usedAt, answers: null },
    expiresAt: null,
  } as const;
  const spoiled = {
    ...current,
    version: randomVersion(),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the state must be an unknown one
    value: { ...current.value, state: "ajar" } as unknown as typeof current.value,
  };
  const changes = [
    { next: backlog, seen: null },
    { next: spoiled, seen: current.version },
  ];
  expect(await documents.write(changes)).toEqual([true, true]);
  return spoiled;
}
