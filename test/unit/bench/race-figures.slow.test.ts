import { describe, expect, it } from "vitest";
import { createGate } from "#test/bench/race/gate.ts";
import { figuresOf } from "#test/bench/race/figures.ts";
import type { Observed } from "#test/bench/race/race.ts";

const engine = {
  name: "one",
  code: ["dial.ts"],
  start: () => Promise.reject(new Error("unused")),
};
const call = (person: string, dueAt: number, acceptedAt?: number) => ({
  person,
  dueAt,
  ...(acceptedAt === undefined ? {} : { acceptedAt, id: `id of ${person}` }),
});

/** Kills for 10 s, a hang and an outage of 10 s each, from the time 0. */
const observed: Observed = {
  startedAt: 0,
  hangAt: 10_000,
  busyAt: 20_000,
  wellAt: 30_000,
  quietAt: 40_000,
  killsAt: [3000, 6000],
  posted: [
    call("Ann", 0, 10),
    call("Bob", 1000, 1020),
    call("Cid", 12_000, 12_030),
    call("Dee", 13_000, 13_010),
    call("Eve", 14_000, 14_010),
    call("Fay", 15_000, 15_010),
    call("Gus", 16_000),
  ],
  phoned: [
    ["Ann", 110],
    ["Bob", 1500],
    ["Ann", 12_000],
    ["Cid", 13_000],
    ["Cid", 31_000],
    ["Cid", 32_000],
  ],
  state: { open: ["id of Dee"], left: ["id of Eve"] },
  consumption: { cpuSeconds: { engine: 6, database: 3 }, memoryBytesMax: 5_000_000 },
};

describe("the figures of a race", () => {
  const figures = figuresOf(engine, observed, 10);

  it("count people and not phone calls", () => {
    expect(figures).toMatchObject({ accepted: 6, refused: 1, twice: 2, kills: 2 });
  });

  it("blame a kill only for people who were first phoned before the hang", () => {
    expect(figures.twiceByKills).toBe(1);
  });

  it("distinguish lost people from those who wait and those left for review", () => {
    expect(figures).toMatchObject({ lost: 1, waiting: 1, left: 1 });
  });

  it("count acceptance from when a post was due, and dialing from its answer under kills alone", () => {
    expect(figures.acceptMs).toEqual({ p50: 10, p95: 30, p99: 30 });
    expect(figures.dialMs).toEqual({ p50: 480, p95: 480, p99: 480 });
  });

  it("share CPU out over the accepted calls", () => {
    expect(figures.cpuMsPerCall).toEqual({ engine: 1000, database: 500 });
  });
});

describe("the gate before the posts", () => {
  it("is closed once no post is under way, and lets none through until it opens", async () => {
    const done: string[] = [];
    const gate = createGate(() => done.length);
    const first = Promise.withResolvers<void>();
    const passing = gate.pass(async () => {
      await first.promise;
      done.push("first");
    });
    await Promise.resolve();
    await Promise.resolve();
    const closing = gate.close();
    const held = gate.pass(async () => done.push("held"));
    first.resolve();
    expect(await closing).toBe(1);
    expect(done).toEqual(["first"]);
    gate.open();
    await Promise.all([passing, held]);
    expect(done).toEqual(["first", "held"]);
  });
});
