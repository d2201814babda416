import { describe, expect, it } from "vitest";
import packageJson from "#package.json" with { type: "json" };
import { callStates } from "#shared/calls/states.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { aRow } from "#test/support/call-rows.ts";
import { createDocuments, kindsMadeByUse } from "#test/upgrade/fixture-documents.ts";
import { type ReadableFixture, readFixtures } from "#test/upgrade/fixture.ts";
import { toItem } from "#test/upgrade/items.ts";
import type { StoredParts } from "#test/upgrade/platforms.ts";
import * as reader from "#test/upgrade/reader.ts";

const fixtures = await readFixtures();
type CallKind = Message["kind"] | "request";
const messageKinds = { request: true, calls: true, dispatch: true, outcome: true } satisfies Record<
  CallKind,
  true
>;
const eventKinds = {
  poll: true,
  deliver: true,
  callback: true,
  "test-event": true,
} satisfies Record<EventMessage["kind"], true>;

type Item = Parameters<typeof reader.readItem>[0];

/** Reads whatever one platform has stored, by this version. Undefined: a row that it cannot read. */
function readAll({ tables }: StoredParts) {
  const items = (tables["items"] ?? []).map(toItem);
  const isCall = (item: Item) => item["pk"]?.S?.startsWith("call#");
  return {
    rows: [
      ...(tables["calls"] ?? []).map(reader.readD1Row),
      ...items.filter(isCall).map(reader.readItem),
    ],
    documents: [
      ...(tables["documents"] ?? []).map(reader.readD1Document),
      ...items.filter((item) => !isCall(item)).map(reader.readDocumentItem),
    ],
  };
}

/** Returns the bodies of a queue and its dead letters, with those that lie in the object store. */
function bodiesOf({ platforms }: ReadableFixture, of: "calls" | "events"): string[] {
  return Object.values(platforms).flatMap(({ queues, objects }) => {
    const live = of === "calls" ? queues.messages : queues.events;
    const kept = Object.entries(objects).flatMap(([name, body]) =>
      name.startsWith(`dead-letters/${of}-`) && !name.endsWith("-unreadable") ? body : [],
    );
    const opened = live.map((body) => objects[JSON.parse(body).key] ?? body);
    return [...opened, ...kept];
  });
}

describe.each(fixtures)("what $version has stored", (fixture) => {
  const { platforms, remedy } = fixture;

  it.each(["cloudflare", "aws"] as const)("is read by this version, on %s", (name) => {
    const read = () => readAll(platforms[name]);
    expect(read, remedy).not.toThrow();
    const ids = Object.values(fixture.rows).map(({ id }) => id);
    const idsRead = read().rows.flatMap((row) => row?.id ?? []);
    expect(idsRead.toSorted(), remedy).toEqual(ids.toSorted());
  });

  it("is read by this version, in messages and dead letters", () => {
    for (const body of bodiesOf(fixture, "calls")) {
      expect(() => reader.readMessage(body), remedy).not.toThrow();
    }
    for (const body of bodiesOf(fixture, "events")) {
      expect(() => reader.readEventMessage(body), remedy).not.toThrow();
    }
  });
});

describe("the fixture of this version", () => {
  const fixture = fixtures.find((one) => one.version === packageJson.version);
  const remedy = `Make it again by "npm run fixture" (docs/contributing.md).`;
  const readParts = () => {
    const parts = Object.values(fixture?.platforms ?? {}).map(readAll);
    return { parts, rows: parts.flatMap((part) => part.rows.flatMap((row) => row ?? [])) };
  };

  it("exists", () => {
    expect(fixture, `${packageJson.version} has none. ${remedy}`).toBeDefined();
  });

  it("has rows in every state, which use every field", () => {
    const { rows } = readParts();
    expect(new Set(rows.map(({ state }) => state)), remedy).toEqual(new Set(callStates));
    const isUsed = (name: string) =>
      rows.some((row) => {
        const value: unknown = Reflect.get(row, name);
        // A number or a flag may be the default of a row that lacks it.
        return Boolean(value) && !(Array.isArray(value) && value.length === 0);
      });
    expect(
      Object.keys(aRow()).filter((name) => !isUsed(name)),
      remedy,
    ).toEqual([]);
  });

  it("has documents of every kind, with every field", () => {
    const { parts, rows } = readParts();
    const ids = Object.entries(fixture?.rows ?? {});
    const named = ids.map(([name, { id }]) => [name, rows.find((row) => row.id === id) ?? aRow()]);
    const made = createDocuments(Object.fromEntries(named), fixture?.storedAt ?? 0);
    const kinds = [...kindsMadeByUse, ...Object.keys(made)].toSorted();
    for (const { documents } of parts) {
      const found = new Set(documents.map(({ kind }) => kind));
      expect([...found].toSorted(), remedy).toEqual(kinds);
    }
    const stored = fixture?.platforms.cloudflare.tables["documents"] ?? [];
    const lacking = stored.flatMap((one) => {
      const { kind, value } = reader.readD1Document(one);
      const before: object = JSON.parse(String(one["value"]));
      return Object.keys(value).flatMap((name) => (name in before ? [] : `${kind}: ${name}`));
    });
    expect(lacking, remedy).toEqual([]);
  });

  it("has messages of every kind", () => {
    const kindsIn = (of: "calls" | "events") =>
      new Set(fixture && bodiesOf(fixture, of).map((body) => String(JSON.parse(body).kind)));
    expect(kindsIn("calls"), remedy).toEqual(new Set(Object.keys(messageKinds)));
    expect(kindsIn("events"), remedy).toEqual(new Set(Object.keys(eventKinds)));
  });
});
