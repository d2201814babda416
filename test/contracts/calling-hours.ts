import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findZone } from "#shared/telephony/time-zone.ts";
import { localTime } from "../support/local-time.ts";
import { places } from "../support/places.ts";
import { type Bench, startBench } from "../support/schedule-bench.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** A call goes two seconds after its hours begin, because clocks may be ahead. */
const openingMarginMs = 2_000;
const newYork = localTime("America/New_York");

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

/** Returns the next 24 whole hours. */
const nextHours = (at: number) =>
  Array.from({ length: 24 }, (_, hour) => (Math.floor(at / hourMs) + 1 + hour) * hourMs);

/** Returns two calls to satellite phones: no zone of a number counts beside theirs, so the test passes at any hour. */
const callsToSatellites = (agent_id: string, timezone: string) =>
  ["+881651000001", "+881651000002"].map((phone_number) => ({ phone_number, agent_id, timezone }));

/** Describes calling hours of the running service, on any platform. */
export function describeCallingHours(platform: PlatformUnderTest): void {
  describe(`${platform.script} with calling hours`, () => {
    let bench: Bench;
    /** An hour in New York that is far from now: the test passes at any hour. */
    const far = newYork(nextHours(Date.now())[10] ?? 0).slice(-5);
    beforeAll(async () => {
      bench = await startBench(platform, (route) => ({
        agents: {
          "*": route,
          federal: { ...route, callingHours: "federal" },
          new_york: { ...route, callingHours: "far" },
        },
        callingHours: {
          default: { "mon-sun": ["09:00-17:00"] },
          federal: "us-federal",
          far: { "mon-sun": [`${far}-${far.slice(0, 3)}30`] },
        },
        destinations: { allow: ["*"], allowServices: ["satellite"] },
      }));
    });
    afterAll(() => bench.end());

    it("hands calls over zone by zone, none before its hours", async () => {
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
        callees.flatMap(({ timezone }, index) => callsToSatellites(`zone_${index}`, timezone)),
      );
      await bench.post([
        { phone_number: "+12125550100", agent_id: "new_york" },
        { phone_number: "+12125550101", agent_id: "federal" },
        { phone_number: "+18005550100", agent_id: "federal" },
      ]);
      await until(() =>
        open.every((_, n) => bench.receivedBy(`zone_${closed.length + n}`).length === 2),
      );

      // The ledger shows when they will be dialed. The zones of New York and of the toll-free number follow
      // from the number.
      let rows = await platform.rows(bench.service);
      const isDecided = () =>
        rows.length === callees.length * 2 + 3 &&
        rows.every(({ state, reason }) => state !== "DIALING" && reason !== "turn");
      await until(async () => {
        if (!isDecided()) rows = await platform.rows(bench.service);
        return isDecided();
      });
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
      const opening = nextHours(now).find((at) => newYork(at).endsWith(far)) ?? 0;
      expect(waitsFor("new_york")).toEqual([[opening + openingMarginMs, "hours:callingHours.far"]]);
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
      await until(all);
      for (const [index, { opensAt }] of closed.entries()) {
        for (const { at } of bench.receivedBy(`zone_${index}`)) {
          expect(at).toBeGreaterThanOrEqual(opensAt);
        }
      }
    });

    it("phones nobody at a place before 8 or after 21 o'clock there, by its number alone", async () => {
      const own = await startBench(platform, (route) => ({
        agents: { "*": route },
        callingHours: { default: "us-federal" },
        destinations: { allow: ["*"] },
      }));
      try {
        await own.post(
          places.map(({ number }, index) => ({
            phone_number: number,
            agent_id: `place_${index}.`,
          })),
        );
        let rows = await platform.rows(own.service);
        await until(async () => {
          rows = await platform.rows(own.service);
          const isDecided = rows.every(
            ({ state, reason }) =>
              state === "PLACED" || (state === "WAITING" && reason?.startsWith("hours:")),
          );
          return rows.length === places.length && isDecided;
        });
        const early = places.flatMap(({ place, zone }, index) => {
          const row = rows.find(({ agentId }) => agentId === `place_${index}.`);
          const dialedAt = own.receivedBy(`place_${index}.`).map(({ at }) => at);
          const times = dialedAt.length > 0 ? dialedAt : [row?.dueAt ?? 0];
          const local = times.map(tableTime(zone));
          return local.every(isDaytime) ? [] : [`${place}: ${local.join(" ")}`];
        });
        expect(early).toEqual([]);
      } finally {
        await own.end();
      }
    });
  });
}

/**
 * Returns a function that formats local time by the table of zones. This process's Intl may be older than that of the Worker:
 * Winnipeg keeps its summer time from 2026 on, which Node 24.21 does not know yet.
 */
function tableTime(zone: string): (at: number) => string {
  const [table] = findZone(zone)?.clocks ?? [];
  return (at) => new Date(at + (table?.(at)?.offsetMs ?? Number.NaN)).toISOString().slice(0, 16);
}

/** Returns whether a local time `YYYY-MM-DDTHH:MM` is from 8 to 21 o'clock. */
const isDaytime = (local: string) => /T(?:0[89]|1\d|20):/.test(local);
