import { expect } from "vitest";
import { type CallRow, watchBacklog } from "../../shared/calls/call-row.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import type { Kind } from "../../shared/ports/document-kinds.ts";
import { aLaterRow, aRowIn } from "../support/call-rows.ts";
import { aCall, toCallsMessage } from "../support/calls.ts";
import type { ReadableFixture } from "./fixture.ts";
import type { UpgradePlatform } from "./platforms.ts";
import type { Service } from "./service.ts";

/** A field that no version knows. */
export const laterField = "laterField";
export const nameOf = ({ kind, key }: { kind: string; key: string }) => `${kind} ${key}`;
/** Kinds whose documents have counters alone, or one number. */
const ofNumbers = new Set(["failures", "counts", "pace"]);

/** Adds a field that this version does not know to each row and document, as a later version would. */
export async function addLater(
  { ledger, documents }: Service,
  platform: UpgradePlatform,
  { rows: stored, reader }: ReadableFixture,
) {
  const { rows } = await ledger.read(Object.values(stored).map(({ id }) => id));
  const changes = [...rows.values()].map((row) => ({
    next: { ...row, version: randomVersion(), [laterField]: { a: [1] } },
    seen: row.version,
  }));
  expect(await ledger.write(changes)).not.toContain(false);
  const found = platform
    .readDocuments(await platform.dump(), reader)
    .filter(({ kind }) => !ofNumbers.has(kind));
  for (const { kind: name, key } of found) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the reader has parsed its kind
    const kind = name as Kind;
    const current = (await documents.read([{ kind, key }])).get(kind, key);
    if (current === undefined) throw new Error(`${name} ${key} has expired`);
    const next = {
      ...current,
      version: randomVersion(),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a value of its kind, and more
      value: { ...current.value, [laterField]: { a: [1] } } as typeof current.value,
    };
    expect(await documents.write([{ next, seen: current.version }])).toEqual([true]);
  }
  return { rows: [...rows.keys()], documents: new Set(found.map(nameOf)) };
}

/** Adds rows and messages that only a later version can read. */
export async function addUnreadable(service: Service, { storedAt }: ReadableFixture) {
  const at = { acceptedAt: storedAt - 60_000, dueAt: storedAt - 1000 };
  const later = [
    aLaterRow(at),
    aLaterRow({ ...at, backlog: watchBacklog }),
    aRowIn("UNKNOWN", {
      ...at,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type must be an unknown one
      route: { type: "later", provider: "later" } as unknown as CallRow["route"],
    }),
  ];
  expect(await service.ledger.write(later.map((next) => ({ next, seen: null })))).not.toContain(
    false,
  );
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
  return { rows: later.map(({ id }) => id), bodies: [...texts.messages, ...texts.events] };
}

const toText = (body: object) => JSON.stringify(body);
