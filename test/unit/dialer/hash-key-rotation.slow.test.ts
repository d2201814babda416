import { withHashKeys } from "#shared/settings/settings.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { doNotCallListKey } from "#shared/policy/number-entries.ts";
import { callbackCheck } from "#shared/settings/callback-url.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { documentOf, numberOf } from "#test/support/dialer-calls.ts";
import {
  createRotationBench,
  currentKey,
  formerKey,
  type Holder,
  holders,
  type RotationBench,
} from "#test/support/rotation-bench.ts";
import { perTier } from "#test/support/per-tier.ts";

const number = "+12025550123";
const minuteMs = 60_000;
const dayMs = 86_400_000;
const entryUnder = ({ bench }: RotationBench, key: string, of = number) =>
  documentOf(bench, "do-not-call", hashNumber(of, key).numberHash);
const namedKeys = async ({ bench }: RotationBench) =>
  (await documentOf(bench, doNotCallListKey.kind, doNotCallListKey.key))?.value.keys;
const add = (rotation: RotationBench, holder: Holder, numbers = [number]) =>
  rotation.ask(holder, "/do-not-call", { add: numbers });
const end = (rotation: RotationBench) => rotation.ask("during", "/hash-key/retire-former", {});

/** Rotates HASH_KEY: the current key has been known for long enough that entries move. */
async function rotate(rotation: RotationBench): Promise<void> {
  await rotation.sweep("during");
  rotation.bench.advance(2 * minuteMs);
}

describe("the do-not-call list while HASH_KEY is rotated", () => {
  it("is enforced with both keys, and a process with only one of them dials nobody", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before");
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
    await add(rotation, "during", [numberOf(1)]);
    expect((await rotation.dial("during", numberOf(1)))?.reason).toBe("do_not_call");
    for (const holder of ["before", "after"] as const) {
      for (const one of [number, numberOf(1), numberOf(2)]) {
        expect(await rotation.dial(holder, one)).toBeUndefined();
        const check = await rotation.ask(holder, "/do-not-call/check", { phone_number: one });
        expect(check.status).toBe(409);
      }
      expect((await add(rotation, holder)).status).toBe(409);
    }
    expect(rotation.bench.dialed).toEqual([]);
  });

  it("stops a process with only one of the keys once a sweep has noted both", async () => {
    const rotation = createRotationBench();
    expect((await rotation.dial("before", number))?.state).toBe("PLACED");
    await rotation.sweep("during");
    for (const holder of ["before", "after"] as const) {
      expect(await rotation.dial(holder, number)).toBeUndefined();
    }
    expect((await rotation.dial("during", number))?.state).toBe("PLACED");
  });

  it("names no third key, so that the two of before can be set again", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before");
    await rotate(rotation);
    const { bench } = rotation;
    bench.deps.settings = {
      ...bench.deps.settings,
      ...withHashKeys({ current: "c3".repeat(32), former: currentKey }),
    };
    await bench.sweep();
    expect(await namedKeys(rotation)).toEqual([formerKey, currentKey].map(nameOfKey));
    expect((await rotation.dial("during", numberOf(1)))?.state).toBe("PLACED");
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
  });

  it("moves an entry that stops calls: first it stands under both keys, for a minute", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before");
    const stands = async () => [
      (await entryUnder(rotation, formerKey)) !== undefined,
      (await entryUnder(rotation, currentKey)) !== undefined,
    ];
    for (const waitMs of [0, minuteMs - 1]) {
      rotation.bench.advance(waitMs);
      expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
      expect(await stands()).toEqual([true, true]);
    }
    expect(await namedKeys(rotation)).toEqual([formerKey, currentKey].map(nameOfKey));
    rotation.bench.advance(1);
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
    expect(await stands()).toEqual([false, true]);
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
  });

  it.each(["write", "remove"].flatMap((method) => [`${method} lost`, `${method} done`]))(
    "stays whole though a move ends without an answer (%s)",
    async (failure) => {
      const rotation = createRotationBench();
      await add(rotation, "before");
      await rotation.dial("during", number);
      rotation.bench.advance(minuteMs);
      const { bench, documents } = rotation;
      documents.write = async (changes) => {
        const isEntry = changes.some(({ next }) => next.kind === "do-not-call");
        if (isEntry && failure === "write lost") throw new Error("no answer");
        const written = await bench.documents.write(changes);
        if (isEntry && failure === "write done") throw new Error("no answer");
        return written;
      };
      documents.remove = async (removals) => {
        if (failure === "remove lost") throw new Error("no answer");
        await bench.documents.remove(removals);
        if (failure === "remove done") throw new Error("no answer");
      };
      expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
      expect(bench.eventsOf("do_not_call.renewal_failed")).toHaveLength(1);
      Object.assign(documents, bench.documents);
      expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
      expect(await entryUnder(rotation, formerKey)).toBeUndefined();
      expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
    },
  );

  it("moves entries whose numbers are sent again, a minute later, and removes a number under both keys", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before", [number, numberOf(1)]);
    for (const isMoved of [false, false, true]) {
      await add(rotation, "during");
      expect((await entryUnder(rotation, formerKey)) === undefined).toBe(isMoved);
      expect(await entryUnder(rotation, currentKey)).toBeDefined();
      rotation.bench.advance(minuteMs / 2);
    }
    const remove = [number, numberOf(1)];
    expect((await rotation.ask("during", "/do-not-call", { remove })).status).toBe(200);
    for (const one of remove) {
      for (const key of [formerKey, currentKey]) {
        expect(await entryUnder(rotation, key, one)).toBeUndefined();
      }
    }
  });

  it.each([
    ["a number of several spellings", {}, "+525512345678"],
    ["an entry of one client's", { client: "shop" }, number],
  ])("moves %s", async (_, of, one) => {
    const rotation = createRotationBench();
    await rotation.ask("before", "/do-not-call", { add: [one], ...of });
    await rotation.sweep("during");
    rotation.bench.advance(62 * dayMs);
    const refused = await end(rotation);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining("client" in of ? "dnc add --client shop" : "(dnc add)"),
    ]);
    for (let n = 0; n < 2; n++) {
      await rotation.ask("during", "/do-not-call", { add: [one], ...of });
      rotation.bench.advance(2 * minuteMs);
    }
    expect((await end(rotation)).body).toEqual({ retired: true });
    const check = await rotation.ask("after", "/do-not-call/check", { phone_number: one });
    expect(check.body).toEqual(
      "client" in of ? { listed: false, clients: ["shop"] } : { listed: true },
    );
  });

  it("moves a number of several spellings that is called", async () => {
    const rotation = createRotationBench({ destinations: { allow: ["MX"] } });
    const mexican = "+525512345678";
    await add(rotation, "before", [mexican]);
    await rotate(rotation);
    for (let n = 0; n < 2; n++) {
      expect((await rotation.dial("during", mexican))?.reason).toBe("do_not_call");
      rotation.bench.advance(2 * minuteMs);
    }
    expect(await entryUnder(rotation, formerKey, mexican)).toBeUndefined();
    expect(await entryUnder(rotation, currentKey, mexican)).toBeDefined();
  });

  it("keeps the keys that are held when a list of another key is renewed", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before");
    const { version = "", value } =
      (await documentOf(rotation.bench, doNotCallListKey.kind, doNotCallListKey.key)) ?? {};
    const keys = [...(value?.keys ?? []), "lost"];
    const next = { ...doNotCallListKey, version: "x", value: { keys, current: null } };
    await rotation.documents.write([{ next: { ...next, expiresAt: null }, seen: version }]);
    expect((await add(rotation, "during")).status).toBe(409);
    const renewed = await rotation.ask("during", "/do-not-call", {
      add: [numberOf(1)],
      renew: true,
    });
    expect(renewed.status).toBe(200);
    expect(await namedKeys(rotation)).toEqual([nameOfKey(formerKey), nameOfKey(currentKey)]);
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
  });
});

describe("an opt-out while HASH_KEY is rotated", () => {
  const placed = async (rotation: RotationBench, holder: Holder) => {
    const row = await rotation.dial(holder, number);
    if (row?.state !== "PLACED") throw new Error("the call was not placed");
    expect(row.request).toBeNull();
    return row;
  };

  it("is listed by the hash of its row, whichever key that is under", async () => {
    const rotation = createRotationBench();
    const before = await placed(rotation, "before");
    const during = await placed(rotation, "during");
    await rotate(rotation);
    await rotation.optOut("during", before);
    expect(await namedKeys(rotation)).toContain(nameOfKey(formerKey));
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
    await rotation.ask("during", "/do-not-call", { remove: [number] });
    await rotation.optOut("during", during);
    expect(await entryUnder(rotation, currentKey)).toBeDefined();
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
  });

  it("waits for a process that knows its row's key, and stops nobody where none may", async () => {
    const rotation = createRotationBench();
    const row = await placed(rotation, "during");
    await expect(rotation.optOut("before", row)).rejects.toThrow(/hashed under another key/);
    expect((await rotation.bench.row(row.id))?.optedOut).toBe(false);
    rotation.bench.advance(2 * 3_600_000);
    expect(await rotation.optOut("before", row)).toBe(true);
    expect(rotation.bench.eventsOf("call.opt_out_lost")).toMatchObject([{ level: "alarm" }]);
    expect((await rotation.dial("before", numberOf(1)))?.state).toBe("PLACED");
  });

  it("is listed under a key that the list names, though this process lacks it", async () => {
    const rotation = createRotationBench();
    const row = await placed(rotation, "during");
    await rotation.sweep("during");
    expect(await rotation.optOut("before", row)).toBe(true);
    expect((await rotation.dial("during", number))?.reason).toBe("do_not_call");
  });
});

it("callback URLs are under the former key until every process of the API knows the current one", async () => {
  const rotation = createRotationBench({ results: {} });
  const { bench } = rotation;
  bench.deps.settings.publicUrl = "https://calls.example";
  const dial = async (holder: Holder) => {
    const row = await rotation.dial(holder, number);
    const [code = ""] = bench.callbackUrls.at(-1)?.split("/").slice(-1) ?? [];
    const { id = "", claims: [claim = ""] = [], numberHash } = row ?? {};
    const call = { id, claim, numberHash };
    const subject = { account: row?.route?.account ?? "", call };
    return (["before", "after"] as const).filter((key) =>
      callbackCheck({ hashKeys: holders[key] })({ subject, code }),
    );
  };
  expect(await dial("before")).toEqual(["before"]);
  expect(await dial("during")).toEqual(["before"]);
  await rotation.sweep("during");
  bench.advance(60 * minuteMs - 1);
  expect(await dial("during")).toEqual(["before"]);
  bench.advance(1);
  expect(await dial("during")).toEqual(["after"]);
});

describe("ending the former HASH_KEY", () => {
  it("is refused without one, before the current one is noted, and until no row needs it", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before");
    const one = await rotation.ask("after", "/hash-key/retire-former", {});
    expect([one.status, one.body["detail"]]).toEqual([409, expect.stringMatching(/one key/)]);
    expect((await end(rotation)).body["detail"]).toMatch(/not noted/);
    await rotation.sweep("during");
    for (const waitMs of [0, 2 * minuteMs]) {
      rotation.bench.advance(waitMs);
      await add(rotation, "during");
    }
    expect((await end(rotation)).body["detail"]).toMatch(/until 2026-08-01T/);
    rotation.bench.advance(60 * dayMs);
    expect((await end(rotation)).status).toBe(409);
    rotation.bench.advance(dayMs);
    expect(await end(rotation)).toMatchObject({ status: 200, body: { retired: true } });
    expect(await namedKeys(rotation)).toEqual([nameOfKey(currentKey)]);
    expect((await rotation.dial("after", number))?.reason).toBe("do_not_call");
    expect((await rotation.dial("after", numberOf(1)))?.state).toBe("PLACED");
  });

  it("is refused while a valid token that operators made depends on it", async () => {
    const rotation = createRotationBench();
    await rotation.ask("before", "/clients/shop", { agents: ["*"] }, "PUT");
    const { body } = await rotation.ask("before", "/clients/shop/tokens", {});
    await rotate(rotation);
    rotation.bench.advance(60 * minuteMs);
    expect((await rotation.ask("during", "/clients/shop/tokens", {})).body["hash_key"]).toBe(
      "current",
    );
    rotation.bench.advance(61 * dayMs);
    expect((await end(rotation)).body["detail"]).toContain(`The token ${String(body["id"])} of`);
    await rotation.ask("during", `/tokens/${String(body["id"])}/revoke`, {});
    expect((await end(rotation)).status).toBe(200);
  });

  it("is refused while a token that only a later version can read may depend on it", async () => {
    const rotation = createRotationBench();
    await rotate(rotation);
    rotation.bench.advance(61 * dayMs);
    const token = { kind: "token", key: "later", version: "v", value: "later", expiresAt: null };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
    await rotation.documents.write([{ next: token as unknown as StoredDocument, seen: null }]);
    const refused = await end(rotation);
    expect([refused.status, refused.body["detail"]]).toEqual([
      409,
      expect.stringContaining("later version"),
    ]);
  });

  it("is refused while an entry of it stands, however many of others do", async () => {
    const rotation = createRotationBench();
    await add(rotation, "before", [number]);
    await rotate(rotation);
    const others = Array.from({ length: 500 }, (_, n) => numberOf(n));
    await add(rotation, "during", others);
    rotation.bench.advance(62 * dayMs);
    expect(await end(rotation)).toMatchObject({ status: 409 });
    expect(await namedKeys(rotation)).toContain(nameOfKey(formerKey));
    await add(rotation, "during");
    expect((await end(rotation)).status).toBe(409);
    rotation.bench.advance(minuteMs);
    await add(rotation, "during");
    expect((await end(rotation)).status).toBe(200);
  });
});

/** Fates of one write or removal of documents. */
const faults = ["none", "lost before", "lost after", "lands later"] as const;

/** Breaks one write or removal of the do-not-call list: it is lost, or done without an answer, or lands after the act. */
function breakOne(
  { bench, documents }: RotationBench,
  { fault, skip }: { fault: (typeof faults)[number]; skip: number },
): () => Promise<void> {
  let left = skip;
  const late: (() => Promise<unknown>)[] = [];
  const broken = async <Result>(isList: boolean, work: () => Promise<Result>): Promise<Result> => {
    if (fault === "none" || !isList || left-- > 0) return work();
    left = Infinity;
    if (fault === "lost after") await work();
    if (fault === "lands later") late.push(work);
    throw new Error("no answer");
  };
  const isList = (kind: string) => kind.startsWith("do-not-call");
  documents.write = (changes) =>
    broken(
      changes.some(({ next }) => isList(next.kind)),
      () => bench.documents.write(changes),
    );
  documents.remove = (removals) =>
    broken(
      removals.some(({ kind }) => isList(kind)),
      () => bench.documents.remove(removals),
    );
  return async () => {
    Object.assign(documents, bench.documents);
    for (const land of late) await land();
  };
}

const actOf = fc.record({
  kind: fc.constantFrom(
    ...(["add", "remove", "dial", "dial", "opt out", "sweep", "wait", "go on"] as const),
  ),
  who: fc.nat(1),
  person: fc.nat(2),
  fault: fc.constantFrom(...faults),
  skip: fc.nat(2),
  minutes: fc.constantFrom(1, 30, 300, 62 * 24 * 60),
});
type Act = typeof actOf extends fc.Arbitrary<infer Value> ? Value : never;

/** Processes that run at each stage of a rotation. Those of one key beside those of two are stopped by the list itself. */
const stages: readonly [Holder, Holder][] = [
  ["before", "before"],
  ["before", "during"],
  ["during", "during"],
  ["during", "after"],
];

/** Creates a rotation at its first stage, and acts upon it. Each act checks that nobody was dialed who is on the list. */
function createActs() {
  const rotation = createRotationBench();
  const { bench } = rotation;
  /** Numbers that an operator or a callee has surely put onto the list. */
  const listed = new Set<string>();
  let placed: { row: CallRow; phone: string }[] = [];
  const state = { stage: 0, since: bench.now() };
  const goTo = (stage: number) => Object.assign(state, { stage, since: bench.now() });

  async function optOut(holder: Holder, person: number): Promise<void> {
    const kept = placed.filter(({ row }) => row.acceptedAt > bench.now() - 60 * dayMs);
    const one = kept[person % Math.max(1, kept.length)];
    if (one === undefined) return;
    // A row tells of its opt-out once. One whose key is lost is not listed.
    const lost = bench.eventsOf("call.opt_out_lost").length;
    const isDone = await rotation.optOut(holder, one.row).catch(() => false);
    if (!isDone) return;
    if (bench.eventsOf("call.opt_out_lost").length === lost) listed.add(one.phone);
    placed = placed.filter((other) => other !== one);
  }

  async function perform({ kind, person, minutes }: Act, holder: Holder): Promise<void> {
    const phone = numberOf(person);
    switch (kind) {
      case "add":
        if ((await add(rotation, holder, [phone])).status === 200) listed.add(phone);
        return;
      case "remove":
        listed.delete(phone);
        await rotation.ask(holder, "/do-not-call", { remove: [phone] });
        return;
      case "dial": {
        const row = await rotation.dial(holder, phone);
        if (row?.state === "PLACED") placed.push({ row, phone });
        return;
      }
      case "opt out":
        return optOut(holder, person);
      case "sweep":
        return rotation.sweep(holder);
      case "wait":
        bench.advance(state.stage === 1 ? minuteMs : minutes * minuteMs);
        return;
      case "go on":
        if (state.stage < 2) goTo(state.stage + 1);
    }
  }

  return {
    rotation,
    listed,
    goTo,
    async act(one: Act): Promise<void> {
      // Settings that a process keeps are at most an hour old.
      if (state.stage === 1 && bench.now() - state.since > 3_600_000) goTo(2);
      const fix = breakOne(rotation, one);
      await perform(one, stages[state.stage]?.[one.who] ?? "during");
      await fix();
      const dialed = bench.dialed.splice(0).map(({ call }) => call.request.phone_number);
      expect(dialed.filter((phone) => listed.has(phone))).toEqual([]);
    },
  };
}

it("nobody whom an operator or a callee has put onto the list is dialed, before, during and after a rotation", async () => {
  const some = fc.array(actOf, { minLength: 5, maxLength: 40, size: "max" });
  await fc.assert(
    fc.asyncProperty(some, fc.boolean(), some, async (acts, isAbrupt, later) => {
      const { rotation, listed, goTo, act } = createActs();
      for (const one of acts) await act(one);
      goTo(2);
      await rotation.sweep("during");
      rotation.bench.advance(2 * minuteMs);
      const moving = { kind: "dial", who: 0, fault: "none", skip: 0, minutes: 0 } as const;
      for (const person of [0, 1, 2, 0, 1, 2]) {
        await act({ ...moving, person });
        rotation.bench.advance(minuteMs);
      }
      rotation.bench.advance(62 * dayMs);
      // A HASH_KEY that was set too early, without its former key, dials nobody either.
      if (!isAbrupt) expect((await end(rotation)).status).toBe(200);
      goTo(3);
      for (const one of later) await act(one);
      const keys = isAbrupt ? "during" : "after";
      for (const phone_number of listed) {
        const { body } = await rotation.ask(keys, "/do-not-call/check", { phone_number });
        expect(body).toEqual({ listed: true });
      }
    }),
    { numRuns: perTier({ quick: 15, long: 50 }) },
  );
});
