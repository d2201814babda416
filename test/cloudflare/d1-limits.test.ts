/** The engine of D1 refuses here what D1 refuses there, and the adapter counts what it does not. */
import { describe, expect, it } from "vitest";
import {
  asInvocation,
  d1StatementsMax,
  statementsLeft,
} from "../../shared/cloudflare/d1-statements.ts";
import { createD1Documents } from "../../shared/cloudflare/d1-documents.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import { testEnv } from "./env.ts";

const { LEDGER } = testEnv;

// https://developers.cloudflare.com/d1/platform/limits/
describe("D1", () => {
  it("takes 100 parameters of a statement, and refuses 101", async () => {
    const ask = (count: number) => {
      const names = Array.from({ length: count }, (_, n) => `?${n + 1}`);
      return LEDGER.prepare(`SELECT ${names.join()}`)
        .bind(...names)
        .all();
    };
    expect((await ask(100)).success).toBe(true);
    await expect(ask(101)).rejects.toThrow(/variable/);
  });
});

describe("an invocation", () => {
  const documents = createD1Documents(LEDGER, { now: Date.now, freshVersion: randomVersion });
  const read = () => documents.read([{ kind: "sweep", key: "sweep" }]);

  it("sends a thousand statements, each of a batch counted, and no more", async () => {
    await asInvocation(async () => {
      const name = { kind: "pause", key: "agent a" } as const;
      const value = { of: { agent: "a" }, at: 1, by: "ops" };
      const next = { ...name, version: randomVersion(), value, expiresAt: null };
      await documents.write([{ next, seen: null }]);
      await documents.write([
        { next: { ...next, version: randomVersion() }, seen: next.version },
        { next: { ...next, key: "agent b" }, seen: null },
      ]);
      expect(statementsLeft()).toBe(d1StatementsMax - 3);
      while (statementsLeft() > 0) await read();
      await expect(read()).rejects.toThrow("more than 1000 statements");
    });
    expect((await read()).get("sweep", "sweep")).toBeUndefined(); // outside of any, none count
  });

  it("writes no row that D1 would refuse for its size, nor others beside it", async () => {
    const entryOf = (key: string, bytes: number) => ({
      next: {
        kind: "cap" as const,
        key,
        version: randomVersion(),
        value: { entries: [{ call: "x".repeat(bytes), claim: "v", at: 1 }] },
        expiresAt: null,
      },
      seen: null,
    });
    expect(await documents.write([entryOf("large", 1_900_000)])).toEqual([true]);
    const write = documents.write([entryOf("small", 1), entryOf("larger", 2_000_000)]);
    await expect(write).rejects.toThrow("D1 takes no row of");
    const stored = await documents.read([{ kind: "cap", key: "small" }]);
    expect(stored.get("cap", "small")).toBeUndefined();
  });

  it("counts its own alone", async () => {
    const left = () =>
      asInvocation(async () => {
        await read();
        await read();
        return statementsLeft();
      });
    expect(await Promise.all([left(), left()])).toEqual([998, 998]);
  });
});
