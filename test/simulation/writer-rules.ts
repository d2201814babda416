import { requestIdOf } from "#shared/calls/ids.ts";
import { ownEntriesMax } from "#shared/policy/gathered-entries.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { sortOutGathered, timeOfEntry } from "#shared/ports/journal.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { writeBudgets } from "#functions/api/actions/write-budgets.ts";
import type { SeenRow } from "./operator-acts.ts";
import { hashKey } from "./plan.ts";
import type { ClientReceiverPost } from "./receivers.ts";
import type { Scenario } from "./scenario.ts";
import type { Written } from "./writers.ts";

/** The events of a run against which the promises about writes are checked. */
export interface WritesHappened {
  scenario: Scenario;
  written: readonly Written[];
  rows: readonly SeenRow[];
  /** The calls that each try and each redial follows, by its id. */
  ancestorsOf: ReadonlyMap<string, readonly string[]>;
  /** Client of each request that was ever on the queue. */
  clientOf(request: string): string | undefined;
  /** JSON of the documents at the end. */
  documentOf(kind: string, key: string): string | undefined;
  /** Names under which entries that stop calls were appended to the journal, and those of all that are left at the end. */
  appended: readonly string[];
  left: readonly string[];
  /** Entries that could not be gathered, which is told. */
  ungathered: number;
  clientReceiverPosts: readonly ClientReceiverPost[];
  endAt: number;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
const stopping: ReadonlySet<string> = new Set(["orders", "opt-outs", "lists"]);

/** Returns a description of every broken promise about writes; empty if all were kept. */
export function writeViolations(happened: WritesHappened): string[] {
  return [
    ...stopsRefused(happened),
    ...stopsLost(happened),
    ...ordersOfOthers(happened),
    ...budgetsExceeded(happened),
    ...journalFlooded(happened),
    ...clientReceiverEventsOfOthers(happened),
  ];
}

/** Checks that no write that stops calls is refused, and that an id which nobody was given leaves nothing behind. */
function stopsRefused({ written }: WritesHappened): string[] {
  return written.flatMap(({ what, target, status, isMadeUp }) => {
    if (!stopping.has(what) || status === (isMadeUp ? 404 : 200)) return [];
    return [`writes: ${what} for ${target} are answered ${status}`];
  });
}

/** Checks that each write that stops calls or ends a token stands at the end, whatever a restore has put back. */
function stopsLost({ written, clientOf, documentOf }: WritesHappened): string[] {
  return written.flatMap(({ what, target, status, isMadeUp }) => {
    if (status !== 200 || isMadeUp) return [];
    switch (what) {
      case "orders": {
        // An order for calls that are all over is not kept.
        if (clientOf(target) !== undefined) return [];
        const { kind, key } = cancellationKeyOf({ request: target });
        return documentOf(kind, key) === undefined
          ? [`writes: the order for ${target} is lost`]
          : [];
      }
      case "opt-outs":
      case "lists":
        return documentOf("do-not-call", hashNumber(target, hashKey).numberHash) === undefined
          ? [`writes: ${target} is not on the list`]
          : [];
      case "tokens":
        return documentOf("token", target)?.includes('"endedAt":null') === false
          ? []
          : [`writes: the token ${target} has not ended`];
      case "receivers":
        return [];
    }
  });
}

/** Checks that no client's order has ended a call of another one. */
function ordersOfOthers({ written, rows, ancestorsOf, clientOf }: WritesHappened): string[] {
  const ordered = new Set(
    written.flatMap(({ what, by, target }) =>
      what === "orders" && clientOf(target) === by ? target : [],
    ),
  );
  return rows.flatMap(({ id, state, reason }) =>
    state === "CANCELLED" &&
    reason === "client" &&
    // An order names a call by its first try, and ends a redial that is made at the same time.
    ![id, ...(ancestorsOf.get(id) ?? [])].some((one) => ordered.has(requestIdOf(one)))
      ? [`writes: ${id} was cancelled by another client`]
      : [],
  );
}

/** Checks that no client has more receivers put in an hour than it may. A restore loses what was counted. */
function budgetsExceeded({ written, scenario }: WritesHappened): string[] {
  if (scenario.restore !== undefined || scenario.clocks !== "same") return [];
  const put = written.filter(({ what, status }) => what === "receivers" && status === 200);
  const hours = Map.groupBy(put, ({ by, at, begun }) =>
    // An answer in the next hour may be of a write that was counted in the one before.
    Math.floor(at / hourMs) === Math.floor(begun / hourMs)
      ? `${by} at ${Math.floor(at / hourMs)}`
      : "between",
  );
  hours.delete("between");
  const { max } = writeBudgets.receivers;
  return [...hours].flatMap(([hour, all]) =>
    all.length > max ? [`writes: ${all.length} receivers by ${hour}`] : [],
  );
}

/** Checks that a writer leaves at most some entries a minute in the journal, and that upkeep gathers what is old. */
function journalFlooded(happened: WritesHappened): string[] {
  const { written, appended, left, ungathered, scenario, endAt } = happened;
  const singles = appended.filter((name) => !name.includes("+") && !name.endsWith("~"));
  const minutes = Map.groupBy(singles, (name) => Math.floor(timeOfEntry(name) / minuteMs));
  const writers = new Set(written.map(({ what, by }) => (stopping.has(what) ? by : "operator")));
  // Callbacks, erasures, and acts of operators are journaled beside.
  const others = scenario.acts.length + (scenario.results ? Infinity : 0);
  const most = ownEntriesMax * (writers.size + 1) + ungathered + others;
  const flooded = [...minutes].flatMap(([minute, { length }]) =>
    length > most ? [`writes: ${length} entries of the journal in minute ${minute}`] : [],
  );
  // Upkeep that dies once its part is written leaves entries of it: another run cannot tell them from those of late writers.
  const { kill, freeze, before, after } = scenario.weather;
  const mayDie = kill + freeze + before + after > 0 || scenario.restore !== undefined;
  const single = mayDie ? [] : left;
  const { replaced } = sortOutGathered(single);
  const old = single.filter(
    (name) => !name.endsWith("~") && timeOfEntry(name) < endAt - 26 * hourMs,
  );
  return [
    ...flooded,
    ...(replaced.length > 0 ? [`writes: ${replaced.length} replaced pages are left`] : []),
    ...(old.length > 0 ? [`writes: ${old.length} old entries of the journal are single`] : []),
  ];
}

/** Checks that a client's own receiver is told of its own calls alone. */
function clientReceiverEventsOfOthers({ clientReceiverPosts, clientOf }: WritesHappened): string[] {
  return clientReceiverPosts.flatMap(({ client, body }) => {
    const { data }: { data: { request_id?: string; id?: string } } = JSON.parse(body);
    const request = data.request_id;
    if (request === undefined || clientOf(request) === client) return [];
    return [`writes: ${client} is told of ${request}`];
  });
}
