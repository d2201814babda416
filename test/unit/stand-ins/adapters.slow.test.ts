import { describe, expect, it } from "vitest";
import type { Failure } from "#infra/stand-ins/failures.ts";
import { standInTypes } from "#infra/stand-ins/index.ts";
import { plannedTypes } from "#shared/calls/provider-types.ts";
import { startTestPair } from "#test/support/test-adapter.ts";
import { base64, createPrivateKey } from "#test/support/private-key.ts";
import { aCallOfText, type Pair, routeFields, startPair } from "#test/support/stand-ins.ts";
import { firstOf } from "#test/support/first-of.ts";

/** Types that have both an adapter and a stand-in. */
const types = plannedTypes.filter((type) => standInTypes.has(type) && type in routeFields);
/** Types whose adapters look calls up. The others are sent a call again, which they know by its id. */
const searched = types.filter((type) => type !== "amazon-connect" && type !== "webhook");
const number = "+12025550123";

/** Ends the calls of a stand-in where its lists have no others. */
function endCalls({ standIn }: Pair): void {
  if (standIn.type !== "exotel") return;
  for (const call of standIn.calls.placed) call.status = "ended";
}

describe.each(types)("the adapter of %s and its stand-in", (type) => {
  const start = (options?: Parameters<typeof startTestPair>[1]) => startTestPair(type, options);
  /** Asserts that a look-up finds this call and no other. */
  async function expectFound(pair: Pair, call: ReturnType<typeof aCallOfText>) {
    const { standIn, lookUp } = pair;
    endCalls(pair);
    const found = await lookUp(call);
    const ids = standIn.calls.placed.filter(({ ourId }) => ourId === call.id).map(({ id }) => id);
    expect(found).toBeOneOf([
      { by: "id", providerCallId: ids[0] },
      { by: "number", providerCallIds: ids },
    ]);
  }

  it("agree on a call, and on how it is looked up", async () => {
    const pair = await start();
    const call = aCallOfText();
    expect(await pair.dial({ call })).toEqual({
      kind: "placed",
      providerCallId: pair.standIn.calls.placed[0]?.id,
    });
    expect(pair.standIn.calls.placed).toMatchObject([{ number, ourId: call.id }]);
    if (pair.canLookUp) await expectFound(pair, call);
    expect(pair.standIn.problems).toEqual([]);
  });

  it("agree on a key that is wrong: the account is refused, and nobody is phoned", async () => {
    const names = Object.keys(standInTypes.get(type)?.secrets ?? {});
    const wrong = `whsec_${Buffer.from("another secret of 24 bytes").toString("base64")}`;
    const { standIn, dial } = await start({
      secrets: Object.fromEntries(
        names.map((name) => [name, name === "PRIVATE_KEY" ? base64(createPrivateKey()) : wrong]),
      ),
    });
    expect(await dial()).toMatchObject({ kind: "account_refused" });
    expect(standIn.calls.placed).toEqual([]);
    expect(standIn.problems).toHaveLength(1);
  });

  it("know a call again whose answer was lost", async () => {
    const pair = await start();
    const call = aCallOfText();
    pair.standIn.play({ how: "reset", places: true });
    expect(await pair.dial({ call })).toEqual({ kind: "unknown", code: "connection_broken" });
    expect(pair.standIn.calls.timesTo(number)).toBe(1);
    if (pair.canLookUp) await expectFound(pair, call);
    expect(pair.standIn.problems).toEqual([]);
  });

  it.each<[Failure, string, object]>([
    [{ how: "hang" }, "time_out", { kind: "unknown" }],
    [{ how: "reset" }, "connection_broken", { kind: "unknown" }],
    [{ how: "break_off", places: true }, "answer_unreadable", { kind: "unknown" }],
    [{ how: "endless" }, "answer_unreadable", { kind: "unknown" }],
    [{ how: "answer", status: 500, body: "oops" }, "http_500", { kind: "unknown" }],
    [{ how: "answer", status: 302, headers: { location: "/" } }, "http_302", { kind: "unknown" }],
    [
      { how: "answer", status: 429, body: {}, headers: { "retry-after": "7" } },
      "http_429",
      { kind: "not_placed", retryAfterSeconds: 7 },
    ],
  ])("meet %j as %s", async (failure, code, outcome) => {
    const { standIn, dial } = await start();
    standIn.play(failure);
    const isWaitedFor = ["hang", "endless"].includes(failure.how);
    // LiveKit's adapter gives the last of its requests half of this time, and the first a sixth, in which a busy machine must answer.
    const timeoutSeconds = isWaitedFor ? (type === "livekit" ? 12 : 3) : 60;
    const met = await dial({ timeoutSeconds });
    // A webhook's status alone says that the call is placed.
    const isTaken = type === "webhook" && code === "answer_unreadable";
    expect(met).toEqual(isTaken ? { kind: "placed" } : { ...outcome, code });
    expect(standIn.calls.timesTo(number)).toBe("places" in failure ? 1 : 0);
    expect(await dial()).toMatchObject({ kind: "placed" });
  });

  it("wait for an answer that is slow", async () => {
    const { standIn, dial } = await start();
    standIn.play({ how: "slow", milliseconds: 200 });
    expect(await dial()).toMatchObject({ kind: "placed" });
    expect(standIn.calls.timesTo(number)).toBe(1);
  });
});

describe.each(searched)("a look-up at %s's stand-in", (type) => {
  const start = (options?: Parameters<typeof startTestPair>[1]) => startTestPair(type, options);

  it("finds one call among duplicates, a neighbour's, an older one and a leg of its own", async () => {
    const pair = await start();
    const { standIn, dial, lookUp } = pair;
    const call = aCallOfText();
    await dial({ call });
    endCalls(pair);
    const placed = firstOf(standIn.calls.placed);
    standIn.calls.addBeside("neighbour", placed);
    standIn.calls.addBeside("older", placed);
    standIn.calls.addBeside("child_leg", placed);
    standIn.calls.listing.hasDuplicates = true;
    const found = await lookUp(call);
    expect(JSON.stringify(found).split(placed.id)).toHaveLength(2);
    expect(found).toBeOneOf([
      { by: "id", providerCallId: placed.id },
      { by: "number", providerCallIds: [placed.id] },
    ]);
    expect(standIn.problems).toEqual([]);
  });

  it("finds a call no sooner than lists have it", async () => {
    let time = Date.now();
    const { standIn, dial, lookUp } = await start({ now: () => time });
    const call = aCallOfText();
    await dial({ call });
    standIn.calls.listing.lagSeconds = 20;
    const id = standIn.calls.placed[0]?.id ?? "";
    expect(JSON.stringify((await lookUp(call)) ?? {})).not.toContain(id);
    time += 21_000;
    expect(JSON.stringify(await lookUp(call))).toContain(id);
  });

  it("fails where the stand-in does, and finds the call the next time", async () => {
    const pair = await start();
    const { standIn, dial, lookUp } = pair;
    const call = aCallOfText();
    await dial({ call });
    endCalls(pair);
    standIn.play({ how: "answer", status: 503, body: {} }, { at: "look_up", times: Infinity });
    await expect(lookUp(call)).rejects.toThrow("503");
    standIn.playNothing();
    expect(JSON.stringify(await lookUp(call))).toContain(standIn.calls.placed[0]?.id);
  });
});

describe("the adapter and the stand-in of ElevenLabs", () => {
  it.each(["exotel", "sip-trunk"])(
    "agree on a call through %s, and how it is looked up",
    async (through) => {
      const { standIn, dial, lookUp } = await startPair("elevenlabs", { fields: { through } });
      const call = aCallOfText();
      const placed = await dial({ call });
      expect(placed).toMatchObject({ kind: "placed" });
      expect(standIn.requests[0]?.path).toBe(`/v1/convai/${through}/outbound-call`);
      const { id } = standIn.calls.placed[0] ?? {};
      expect(await lookUp(call)).toEqual({ by: "id", providerCallId: id });
      expect(standIn.problems).toEqual([]);
      await standIn.close();
    },
  );
});

describe("the adapter and the stand-in", () => {
  const start = (type: string) => startTestPair(type);
  /** Returns the only call that was placed. */
  function onlyCallOf({ standIn }: Pair) {
    const [call, ...others] = standIn.calls.placed;
    if (call === undefined || others.length > 0) throw new Error("not one call was placed");
    return call;
  }

  it.each(types.filter((type) => !searched.some((one) => one === type)))(
    "of %s phone nobody twice where a call of unknown outcome is sent again",
    async (type) => {
      const pair = await start(type);
      const call = aCallOfText();
      pair.standIn.play({ how: "hang", places: true });
      const first = await pair.dial({ call, timeoutSeconds: 3 });
      expect(first).toEqual({ kind: "unknown", code: "time_out" });
      const { id } = onlyCallOf(pair);
      expect(await pair.dial({ call })).toEqual({ kind: "placed", providerCallId: id });
      expect(pair.standIn.calls.timesTo(number)).toBe(1);
    },
  );

  it("of LiveKit phone nobody where no worker serves the agent: the route is at fault", async () => {
    const pair = await start("livekit");
    pair.standIn.settings.hasAgent = false;
    const outcome = await pair.dial({ timeoutSeconds: 60 });
    expect(outcome).toEqual({ kind: "route_refused", code: "agent_absent", isAbsent: true });
    expect(pair.standIn.calls.placed).toEqual([]);
    expect(pair.standIn.problems).toEqual([]);
  });

  it("of Twilio decide nothing while a call to the number is queued, as it may be ours", async () => {
    const pair = await start("twilio");
    const call = aCallOfText();
    await pair.dial({ call });
    const placed = onlyCallOf(pair);
    placed.status = "queued";
    expect(await pair.lookUp(call)).toBeUndefined();
    placed.status = "in-progress";
    expect(await pair.lookUp(call)).toEqual({ by: "number", providerCallIds: [placed.id] });
  });

  it("of Vapi do not know the outcome of a call that found no line until its record has it", async () => {
    const pair = await start("vapi");
    const call = aCallOfText();
    pair.standIn.settings.hasLine = false;
    expect(await pair.dial({ call })).toEqual({ kind: "unknown", code: "concurrency_blocked" });
    const placed = onlyCallOf(pair);
    expect(await pair.lookUp(call)).toBeUndefined();
    placed.status = "in-progress";
    expect(await pair.lookUp(call)).toEqual({ by: "id", providerCallId: placed.id });
    placed.status = "ended";
    placed.endedReason = "call.start.error-subscription-concurrency-limit-reached";
    expect(await pair.lookUp(call)).toEqual({
      by: "id",
      notPlaced: { kind: "not_placed", code: "concurrency_limit" },
    });
    expect(pair.standIn.problems).toEqual([]);
  });

  it("of Retell agree on a list without items, which proves nothing", async () => {
    const pair = await start("retell");
    expect(await pair.lookUp(aCallOfText())).toBeUndefined();
    expect(pair.standIn.problems).toEqual([]);
  });

  it("of Amazon Connect agree on what it refuses: an attribute that cannot be carried", async () => {
    const { standIn, dial } = await start("amazon-connect");
    const call = aCallOfText();
    call.request.context = { "first name": "Ada" };
    expect(await dial({ call })).toEqual({ kind: "rejected", code: "connect_invalid_parameter" });
    expect(standIn.problems).toEqual([expect.stringContaining("body.Attributes")]);
    expect(standIn.calls.placed).toEqual([]);
  });
});
