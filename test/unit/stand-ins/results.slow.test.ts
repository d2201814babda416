import { describe, expect, it } from "vitest";
import { standInTypes } from "#infra/stand-ins/index.ts";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import { startTestPair } from "#test/support/test-adapter.ts";
import { aCallOfText, type Pair } from "#test/support/stand-ins.ts";

/** Types whose records tell what became of a call, with the route's fields that have more told. */
const told: [string, object, Partial<Record<ResultStatus, ResultStatus>>][] = [
  ["twilio", { machineDetection: "Enable" }, {}],
  // Nobody tells a machine from a person where the route does not ask for it, or the provider has no word for it.
  ["twilio", {}, { voicemail: "completed" }],
  ["signalwire", {}, { voicemail: "completed" }],
  ["telnyx", { machineDetection: "premium" }, {}],
  ["telnyx", {}, { voicemail: "completed" }],
  ["retell", {}, {}],
  ["vapi", {}, {}],
  ["elevenlabs", {}, {}],
  ["ultravox", {}, { voicemail: "completed", busy: "unknown", no_answer: "unknown" }],
  ["ultravox", { through: "sip", sipHost: "sip.example.com" }, { voicemail: "completed" }],
  ["bland", {}, { voicemail: "completed" }],
  ["exotel", {}, { voicemail: "completed" }],
  ["plivo", { machineDetection: "hangup" }, {}],
  ["plivo", {}, { voicemail: "completed" }],
  ["vonage", {}, { voicemail: "completed" }],
  ["amazon-connect", {}, { voicemail: "completed" }],
];
/** Types whose times have no zone, so that none is told. */
const timeless = new Set(["exotel"]);
const listing = new Set([
  "signalwire",
  "twilio",
  "retell",
  "vapi",
  "elevenlabs",
  "ultravox",
  "exotel",
  "plivo",
  "vonage",
]);

describe.each(told)("the results of %s %j at its stand-in", (type, fields, instead) => {
  const startedAt = Date.parse("2026-11-21T00:00:00Z");
  let time = startedAt;
  async function start(): Promise<Pair> {
    time = startedAt;
    return startTestPair(type, { fields, now: () => time });
  }
  async function place(pair: Pair, number: string) {
    const call = aCallOfText(number);
    const outcome = await pair.dial({ call });
    const id = outcome.kind === "placed" ? (outcome.providerCallId ?? "") : "";
    return { id, read: () => pair.readResult(call, id) };
  }

  it.each<[string, ResultStatus]>([
    ["+12025550123", "completed"],
    ["+12025550127", "voicemail"],
    ["+12025550128", "no_answer"],
    ["+12025550129", "busy"],
  ])("follow a call to %s until its end: %s", async (number, fate) => {
    const pair = await start();
    const { id, read } = await place(pair, number);
    expect(await read()).toMatchObject({ status: "live" });
    time += 3000;
    const isAnswered = fate === "completed" || fate === "voicemail";
    if (isAnswered) expect(await read()).toMatchObject({ status: "live" });
    time += 57_000;
    const status = instead[fate] ?? fate;
    const ended = startedAt + (isAnswered ? 7000 : 2000);
    const result = await read();
    expect(result).toMatchObject({ status, seconds: isAnswered ? 5 : null });
    expect(result?.human).toBe(status === "voicemail" ? false : (result?.human ?? null));
    expect([ended, null]).toContain(result?.endedAt);
    const isTimed = isAnswered && !timeless.has(type);
    expect(result?.answeredAt).toBe(isTimed ? startedAt + 2000 : null);
    const listed = await pair.listResults();
    expect(listed !== undefined).toBe(listing.has(type));
    expect([result, undefined]).toContainEqual(listed?.get(id));
    if (listed !== undefined && isAnswered) expect(listed.get(id)).toEqual(result);
    expect(pair.standIn.problems).toEqual([]);
  });

  it("are reported for each call of a campaign", async () => {
    const pair = await start();
    const placed = [];
    for (let n = 0; n < 20; n++) placed.push(await place(pair, `+120255501${10 + n}`));
    time += 60_000;
    const statuses = await Promise.all(placed.map(async ({ read }) => (await read())?.status));
    const fates: ResultStatus[] = [
      ...Array.from({ length: 7 }, () => "completed" as const),
      "voicemail",
      "no_answer",
      "busy",
    ];
    expect(statuses).toEqual([...fates, ...fates].map((fate) => instead[fate] ?? fate));
  });

  it("are missing for a call that the provider does not know", async () => {
    const pair = await start();
    const unknown =
      type === "twilio" ? `CA${"0".repeat(32)}` : "00000000-0000-0000-0000-000000000000";
    expect(await pair.readResult(aCallOfText(), unknown)).toBeUndefined();
  });
});

it("are reported by every type that has a stand-in, except those that only call back", () => {
  const types = new Set(told.map(([type]) => type));
  const others = [...standInTypes.keys()].filter((type) => !types.has(type));
  expect(others).toEqual(["livekit", "webhook"]);
});
