import { accountOf } from "../support/account-of.ts";
/**
 * Asks about ten thousand calls that stay open for four hours, in a process of its own. They are placed within an hour,
 * as a pace of three a second does. Minutes pass at once, and so do the waits between asks.
 */
import { nextPollAt } from "#functions/dialer/record/due-times.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { resultsLane } from "#shared/calls/lane.ts";
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import { applyClaim, applySettlement } from "#shared/calls/transitions.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { apiEnvironment } from "../support/environment.ts";
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { answer, ready } from "./competitors/side.ts";
import { createMeter, type Meter, sumOf } from "./meter.ts";
import type { Asked } from "./open-calls.ts";
import { type CountedPlatform, requestOf } from "./service.ts";
import { startTold, waitMinutes } from "./told-service.ts";

const minuteMs = 60_000;
const daySeconds = 86_400;

interface Question {
  openCalls: number;
  placedMinutes: number;
}

/** Returns the row of a call that was placed just now, as its settlement leaves it. */
function placedRow(n: number, at: number, route: Route): CallRow {
  const requestId = createRequestId(at, randomId());
  const request = requestOf(n);
  const id = toCallId(requestId, 0);
  const call = {
    id,
    requestId,
    batchCalls: 1,
    client: "crm",
    mode: "live" as const,
    acceptedAt: at,
    request,
  };
  const known = { call, ...hashNumber(request.phone_number, apiEnvironment.HASH_KEY) };
  const claim = randomVersion();
  const row = applyClaim(
    undefined,
    { route, account: accountOf(route), newCall: known },
    { version: claim, at },
  );
  const pollAt = nextPollAt(at, at, waitMinutes);
  const settlement = { id, claim, state: "PLACED", reason: "placed", at, pollAt } as const;
  const placed =
    row && applySettlement(row, { ...settlement, providerCallId: `CA${randomId()}` }, claim);
  if (placed === undefined) throw new Error("the state machine refuses");
  return placed;
}

async function askForHours(
  start: (meter: Meter) => Promise<CountedPlatform>,
  { openCalls, placedMinutes }: Question,
): Promise<Asked> {
  const meter = createMeter();
  const platform = await start(meter);
  const { clock, ledger } = platform;
  const wait = async (ms: number) => clock.set(clock.now() + Math.max(0, ms));
  const bench = await startTold(platform, meter, { account: "atOnce", told: "results", wait });
  const { standIn, service, route } = bench;
  standIn.settings.talkSeconds = daySeconds;
  const beganAt = clock.now();
  const sweepsMs: number[] = [];
  const askedMs: number[] = [];
  let placed = 0;
  for (let minute = 0; minute < placedMinutes + waitMinutes + 5; minute++) {
    clock.set(beganAt + minute * minuteMs);
    const until = Math.min(openCalls, Math.ceil((openCalls * (minute + 1)) / placedMinutes));
    const rows = Array.from({ length: until - placed }, (_, n) =>
      placedRow(placed + n, clock.now(), route),
    );
    placed = until;
    for (const { id, providerCallId } of rows) {
      standIn.calls.place({
        id: providerCallId ?? "",
        number: "+12122000000",
        ourId: id,
        request: {},
      });
    }
    await meter.at("place", () => ledger.write(rows.map((next) => ({ next, seen: null }))));
    const begunAt = performance.now();
    await service.sweep();
    sweepsMs.push(performance.now() - begunAt);
    const askedAt = clock.now();
    await service.deliverEvents();
    askedMs.push(clock.now() - askedAt);
  }
  const key = resultsLane(route);
  const [left = []] = await ledger.due({
    lanes: [{ key }],
    until: clock.now() + daySeconds * 1000,
    each: 1,
  });
  if (left.length > 0) throw new Error("a call is still asked about");
  const stages = meter.take();
  stages.delete("place");
  await bench.stop();
  await platform.stop();
  return { counted: sumOf(stages.values()), requests: standIn.requests.length, sweepsMs, askedMs };
}

const asking =
  (start: (meter: Meter) => Promise<CountedPlatform>) =>
  async (question: object): Promise<Asked> => {
    const { openCalls = 0, placedMinutes = 0 }: Partial<Question> = question;
    return askForHours(start, { openCalls, placedMinutes });
  };
answer({ Cloudflare: asking(startCloudflare), AWS: asking(startAws) });
ready();
