import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken } from "../../shared/platform/tokens.ts";
import { localTime } from "../support/local-time.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

const { token, sha256 } = createToken();
const minuteMs = 60_000;
const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;

/** Starts a separate service with a receiver, under a plan. */
async function startBench(platform: PlatformUnderTest, planOf: (route: object) => object) {
  const receiver = await startReceiver((_request, response) => response.writeHead(200).end("{}"));
  const directory = await makeStateDirectory();
  const service: RunningService = await startService(
    platform,
    {
      API_TOKENS: JSON.stringify([{ id: "test", sha256 }]),
      DIAL_PLAN: JSON.stringify({
        callingHours: { default: "always" },
        destinations: { allow: ["*"] },
        ...planOf({ provider: "webhook", url: `${receiver.url}/dial` }),
      }),
    },
    directory.path,
  );
  return {
    service,
    received: receiver.received,
    receivedBy: (agent: string) =>
      receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`)),
    async post(calls: object[]) {
      const { status } = await fetch(`${service.address}/v1/calls/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(calls),
      });
      expect(status).toBe(201);
    },
    async end() {
      await service.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    },
  };
}
type Bench = Awaited<ReturnType<typeof startBench>>;

const callsTo = (agent_id: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({
    phone_number: numberOf(index),
    agent_id,
    ...more,
  }));

/** Maximum number of times within any one second. */
const peakOf = (times: number[]) =>
  Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1000).length));

/** A call goes two seconds after its hours begin, because clocks may be ahead. */
const openingMarginMs = 2_000;
const hours = { default: { "mon-sun": ["09:00-17:00"] }, federal: "us-federal" };

/** Returns the fixed offset at which it is `local` (`HH:MM`) at time `at`. */
function offsetWhere(local: string, at: number): string {
  const [hour = 0, minute = 0] = local.split(":").map(Number);
  const utcMinutes = Math.floor(at / minuteMs) % (24 * 60);
  let minutes = (hour * 60 + minute - utcMinutes + 24 * 60) % (24 * 60);
  if (minutes > 14 * 60) minutes -= 24 * 60;
  const two = (n: number) => String(n).padStart(2, "0");
  const [whole, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${two(whole)}:${two(rest)}`;
}

/** Describes calling hours and pace of the running service, on any platform. */
export function describeScheduling(platform: PlatformUnderTest): void {
  // The tests run concurrently, each with a service of its own, as they mostly wait.
  describe.concurrent(`${platform.script} with calling hours and pace`, () => {
    const paced = (callsPerSecond: number) => (route: object) => ({
      agents: { "*": route },
      providers: { webhook: { callsPerSecond } },
    });
    let zones: Bench;
    let slow: Bench;
    let fast: Bench;
    // One after another, and before the first call: starting a service takes both cores for seconds.
    beforeAll(async () => {
      zones = await startBench(platform, (route) => ({
        agents: { "*": route, federal: { ...route, callingHours: "federal" } },
        callingHours: hours,
      }));
      slow = await startBench(platform, paced(2));
      fast = await startBench(platform, paced(20));
    });
    afterAll(() => Promise.all([zones, slow, fast].map((bench) => bench.end())));

    it("hands calls over zone by zone, none before its hours and each within a minute", async () => {
      const bench = zones;
      const now = Date.now();
      // The first opening lies at least 30 s ahead, the other a minute later.
      const first = Math.ceil((now + 30_000) / minuteMs) * minuteMs;
      const openings = [first, first + minuteMs];
      const closed = openings.map((nineAt) => ({
        timezone: offsetWhere("09:00", nineAt),
        opensAt: nineAt + openingMarginMs,
      }));
      const open = ["10:30", "12:00", "15:30"].map((local) => ({
        timezone: offsetWhere(local, now),
        opensAt: 0,
      }));
      const callees = [...closed, ...open];
      expect(new Set(callees.map(({ timezone }) => timezone)).size).toBe(5);
      await bench.post(
        callees.flatMap(({ timezone }, index) => callsTo(`zone_${index}`, 2, { timezone })),
      );
      await bench.post([
        { phone_number: "+12125550100", agent_id: "new_york" },
        { phone_number: "+12125550101", agent_id: "federal" },
        { phone_number: "+18005550100", agent_id: "federal" },
      ]);
      await until(
        () => open.every((_, n) => bench.receivedBy(`zone_${closed.length + n}`).length === 2),
        20_000,
      );

      // The ledger shows when they will be dialed. The zones of New York and of the toll-free number follow
      // from the number.
      let rows = await platform.rows(bench.service);
      const isDecided = () =>
        rows.length === callees.length * 2 + 3 && rows.every(({ state }) => state !== "DIALING");
      await until(async () => {
        if (!isDecided()) rows = await platform.rows(bench.service);
        return isDecided();
      }, 30_000);
      expect(Date.now()).toBeLessThan(first);
      const waitsFor = (agent: string) =>
        rows
          .filter(({ agentId, state }) => agentId === agent && state === "WAITING")
          .map(({ dueAt, reason }) => [dueAt, reason]);
      const outside = "hours:callingHours.default";
      for (const [index, { opensAt }] of closed.entries()) {
        expect(waitsFor(`zone_${index}`)).toEqual([
          [opensAt, outside],
          [opensAt, outside],
        ]);
      }
      const newYork = localTime("America/New_York");
      const isOpen = (at: number) => /T(09|1[0-6]):/.test(newYork(at));
      const nextOpening = Array.from(
        { length: 25 },
        (_, hour) => (Math.floor(now / 3_600_000) + hour) * 3_600_000,
      ).find((at) => at > now && newYork(at).endsWith("T09:00"));
      if (nextOpening === undefined) throw new Error("it is nine o'clock in New York every day");
      expect(waitsFor("new_york")).toEqual(
        isOpen(now) ? [] : [[nextOpening + openingMarginMs, outside]],
      );
      const utc = new Date(now).toISOString().slice(11, 16);
      const tollFree = rows.find(
        ({ agentId, request }) =>
          agentId === "federal" && request?.phone_number.startsWith("+1800") === true,
      );
      // All of +1, from Guam (22:00 UTC) to Newfoundland (23:30 or 00:30 UTC), is between 8 and 21 o'clock.
      if (utc < "21:58" && utc > "00:30") {
        expect(tollFree?.reason).toBe("hours:callingHours.federal");
        expect(new Date(tollFree?.dueAt ?? 0).toISOString().slice(11, 16)).toBe("22:00");
      }

      const all = () => callees.every((_, n) => bench.receivedBy(`zone_${n}`).length === 2);
      await until(all, first + minuteMs - Date.now() + 60_000);
      for (const [index, { opensAt }] of closed.entries()) {
        for (const { at } of bench.receivedBy(`zone_${index}`)) {
          expect(at).toBeGreaterThanOrEqual(opensAt);
          expect(at).toBeLessThanOrEqual(opensAt + minuteMs);
        }
      }
    }, 300_000);

    it("hands 60 calls at 2 a second over in half a minute", async () => {
      const bench = slow;
      const postedAt = Date.now();
      await bench.post(callsTo("agent", 60));
      await until(() => bench.received.length >= 60, 60_000);
      const times = bench.received.map(({ at }) => at);
      expect(new Set(bench.received.map(({ id }) => id)).size).toBe(60);
      expect(times).toHaveLength(60);
      expect(Math.max(...times) - postedAt).toBeGreaterThanOrEqual(28_000);
      expect(Math.max(...times) - postedAt).toBeLessThanOrEqual(42_000);
      expect(peakOf(times)).toBeLessThanOrEqual(3);
    });

    it("keeps a backlog of 500 at 20 a second moving, and a later call behind it", async () => {
      const bench = fast;
      await bench.post(callsTo("backlog", 500));
      await until(() => bench.received.length >= 3 * 20, 30_000);
      // The client and agent are the same: another backlog would have its share at once.
      await bench.post(callsTo("backlog", 501).slice(500));
      await until(() => bench.received.length >= 501, 90_000);
      expect(new Set(bench.received.map(({ id }) => id)).size).toBe(501);
      const times = bench.receivedBy("backlog").map(({ at }) => at);
      const seconds = (Math.max(...times) - Math.min(...times)) / 1000;
      expect(501 / seconds).toBeGreaterThanOrEqual(20 * 0.9);
      expect(peakOf(times)).toBeLessThanOrEqual(21 + 6); // on busy cores a request arrives late
      const number = callsTo("backlog", 501).at(500)?.phone_number ?? "";
      const later = bench.received.find(({ text }) => text.includes(number));
      const before = times.filter((at) => at < (later?.at ?? 0)).length;
      // A call is called up four seconds ahead of its time, and takes the first free permit then.
      expect(before).toBeGreaterThanOrEqual(500 - 4 * 20);
    });
  });
}
