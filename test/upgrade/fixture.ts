import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fixturesFolder, readChangelog } from "../support/releases.ts";
import type { StoredCall } from "./fixture-calls.ts";
import type { PlatformName, Reader, StoredParts } from "./platforms.ts";
import type { QueueHandler } from "#functions/dialer/handlers.ts";

/** Everything that one version has stored on both platforms, and what may become of it. */
export interface Fixture {
  version: string;
  /** Time at which it was stored, in milliseconds since the epoch. */
  storedAt: number;
  /** Calls that have a row, by what was stored of them. */
  rows: Record<string, StoredCall>;
  /** Calls that only a message has. */
  messages: Record<string, StoredCall>;
  /** A request that was accepted under a key: its repeat must meet it. */
  keyed: { key: string; body: unknown; requestId: string };
  platforms: Record<PlatformName, StoredParts & { queues: Record<QueueHandler, string[]> }>;
}

/** A fixture with the reader of its version. */
export interface ReadableFixture extends Fixture {
  reader: Reader;
  /** Sentence that says what to do where this version cannot go on with it. */
  remedy: string;
}

/** Reads the fixtures of all versions. */
export async function readFixtures(): Promise<ReadableFixture[]> {
  const released = readChangelog(await readFile("CHANGELOG.md", "utf8")).flatMap((one) =>
    one.isReleased ? one.version : [],
  );
  const names = (await readdir(fixturesFolder)).filter((name) => name.endsWith(".json"));
  return Promise.all(names.map((name) => readFixture(name.replace(/\.json$/, ""), released)));
}

async function readFixture(version: string, released: readonly string[]): Promise<ReadableFixture> {
  const path = join(resolve(fixturesFolder), version);
  const fixture: Fixture = JSON.parse(await readFile(`${path}.json`, "utf8"));
  const reader: Reader = await import(`${path}.reader.mjs`);
  const isReleased = released.includes(version);
  const remedy = isReleased
    ? `People have stored this with ${version}: bring a migration, or read its form too.`
    : `${version} is not released: make its fixture anew by "npm run fixture", or bring a migration.`;
  return { ...fixture, reader, remedy };
}
