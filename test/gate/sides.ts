import { dispatch } from "#test/support/entries.ts";
import * as z from "#shared/lib/zod.ts";
import { type RowsRead, toRowsRead, unreadable } from "#shared/ports/unreadable.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { createRouteTable, readDialPlan } from "../support/plans.ts";
import { findPlanErrors } from "#functions/api/calls/call-errors.ts";
import { decide, type Dial, toDecisionFacts } from "#functions/dialer/decide/decide-delivered.ts";
import { judgeOrders, judgeClock } from "#functions/dialer/dial/check.ts";
import { findObstacle } from "#functions/dialer/dial/claim.ts";
import { dialCalls } from "#functions/dialer/dial/dial-calls.ts";
import { createDialerMemory } from "#functions/dialer/wiring.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import type { Log } from "#shared/lib/log.ts";
import { Withheld } from "#shared/lib/http-client.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { judgeFirstRow } from "#shared/rules/first-row.ts";
import { judgeLost } from "#shared/rules/lost-by-restore.ts";
import { ends, orders, permitTime } from "#shared/rules/gates.ts";
import { toDecided, type Verdict } from "#shared/rules/rule.ts";
import * as core from "./frozen/core.mjs";
import { dialOf } from "../support/resolved.ts";
import type { Forecasting } from "./forecast.ts";
import type { Asked, AskedLater, Side } from "./judged.ts";
import { forecastCalls } from "#functions/operator/forecast/forecast-calls.ts";
import { createHoldersNow } from "#functions/operator/forecast/holders-now.ts";

const log: Log = () => undefined;

/** Returns whether a provider can be asked for calls of this kind in the worlds of these tests. */
const providerOf = ({ provider }: Route) =>
  provider === "twilio" || provider === "vapi" ? { lookUp: log } : {};

const callerOf = ({ client, mode, acceptedAt, notBefore }: Call) => ({
  client,
  mode,
  agents: ["*"],
  at: acceptedAt,
  notBefore,
});

const readOnce =
  ({ isUnread, documents }: Pick<AskedLater, "isUnread" | "documents">) =>
  () =>
    isUnread ? Promise.reject(new Error("not read")) : Promise.resolve(documents);

/** Returns documents of which an unreadable one throws its schema's error, as it did then. */
const documentsThen = (documents: Asked["documents"]): Asked["documents"] => ({
  ...documents,
  get(kind, key) {
    if (documents.find(kind, key)?.value === unreadable) z.never().parse(key);
    return documents.get(kind, key);
  },
});

/** Returns rows as they were read then. */
const rowsThen = ({ rows, unreadable: others }: RowsRead<{ id: string }>) => ({
  rows: new Map(rows.map((row) => [row.id, row])),
  unreadable: others,
});

type Names = Readonly<Partial<Record<string, string>>>;

/** Names of a route's fields then, by their names now, and the other way round. */
const namesThen: Names = { account: "provider", provider: "type" };
const namesNow: Names = { provider: "account", type: "provider" };

/** Returns what has a route with the route's fields renamed. */
function withRenamed<Value>(value: Value, names: Names): Value {
  const { route }: { route?: Route | null } = Object(value);
  if (route == null) return value;
  const fields = Object.entries(route).map(([name, field]) => [names[name] ?? name, field]);
  return Object({ ...value, route: Object.fromEntries(fields) });
}

/** Returns what has a route as it was then, when its `provider` was the account. */
const former = <Value>(value: Value): Value => withRenamed(value, namesThen);

/** Returns a ledger whose rows have routes with these names of fields. Both sides have one, as it costs ticks. */
function ledgerNaming(
  [read, written]: [Names, Names],
  toForm: (read: RowsRead<{ id: string }>) => object,
  ledger: CallLedger,
): CallLedger {
  const inForm = <Row extends { id: string }>({ rows, unreadable: others }: RowsRead<Row>) =>
    Object(
      toForm(
        toRowsRead(
          rows.map((row) => withRenamed(row, read)),
          others,
        ),
      ),
    );
  return {
    ...ledger,
    read: async (ids) => inForm(await ledger.read(ids)),
    readWithoutContext: async (ids) => inForm(await ledger.readWithoutContext(ids)),
    write: (changes) =>
      ledger.write(changes.map(({ next, seen }) => ({ next: withRenamed(next, written), seen }))),
  };
}

/** Returns the routes of a plan of then as they are written now. */
const asNow = (agents: Record<string, Route>): Record<string, Route> =>
  Object.fromEntries(
    Object.entries(agents).map(([agent, route]) => [agent, withRenamed({ route }, namesNow).route]),
  );

/** The rules as they were before they had modules of their own. */
export const frozen: Side & Forecasting = {
  forecast: core.forecastCalls,
  holdersNow: (read, { plan, ...inputs }: { plan?: object }) =>
    core.createHoldersNow(read, { plan, ...inputs }),

  Withheld: core.Withheld,
  createMemory: core.createDialerMemory,
  ledger: (ledger) => ledgerNaming([namesThen, namesNow], rowsThen, ledger),
  dialCalls: core.dialCalls,
  dispatch: core.dispatch,
  parse(value, hashKeys) {
    const read = core.readDialPlan(value);
    if ("problems" in read) throw new Error(JSON.stringify(read.problems));
    const { plan } = read;
    const schedule = core.createSchedule(plan, log);
    return { agents: asNow(plan.agents), settings: { plan, schedule, hashKeys, providerOf } };
  },
  decide: ({ delivered, row, documents, clock, ahead, concurrency }, settings) => {
    const known = core.toKnown(documentsThen(documents), { settings, clock, concurrency });
    const { kind, route, dialAt, ...others } = Object(
      core.decide(delivered, former(row), { ...known, ahead }),
    );
    if (kind !== "dial") return { kind, ...others };
    return { kind, route, dialAt, call: others.call, row: others.row };
  },
  decideFirst: ({ call, documents, clock, concurrency }, settings) => {
    const known = core.toKnown(documentsThen(documents), { settings, clock, concurrency });
    return (["restored", "dead_letter"] as const).map((reason) =>
      core.decideFirst(call, reason, known),
    );
  },
  beforeClaim: (asked, settings) => {
    const { dial, clock, deadline, stopped } = asked;
    const deps = { settings, clock, log };
    const documents = readOnce({ ...asked, documents: documentsThen(asked.documents) });
    return core.findObstacle(former(dial), { deps, deadline, stopped, documents });
  },
  orders: ({ dial, claim, documents, clock }, settings) => {
    const claimed = { dial: former(dial), ...claim, row: former(claim.row) };
    const decided = core.checkControls(claimed, documentsThen(documents), { settings, clock });
    return [decided, decided];
  },
  byClock: ({ dial, claim, laterMs, clock }, settings) =>
    core.checkClock(
      { dial: former(dial), ...claim, row: former(claim.row) },
      { laterMs },
      { settings, clock },
    ),
  acceptance: ({ call }, settings) => core.findPlanErrors(call.request, callerOf(call), settings),
};

/** Returns the decision to dial, as the dialer hands it on. */
function dialIn({ dial }: AskedLater, settings: object): Dial {
  const { permission } = dial;
  const known = dialOf(dial, Object(settings));
  return permission === undefined ? known : Object.assign(known, { permission });
}

/** Returns what a verdict makes of a claimed call. */
function settledBy(verdict: Verdict | undefined, dial: Dial, { row }: AskedLater["claim"]) {
  return verdict && toDecided(verdict, dial.row?.dueAt ?? row.claimedAt ?? dial.dialAt);
}

function decideNow({ documents, clock, concurrency }: Asked, settings: object) {
  const known = toDecisionFacts(documents, Object({ settings, clock, concurrency }));
  return known;
}

/** The rules as they are. */
export const today: Side & Forecasting = {
  forecast: (posted, plan, inputs) => forecastCalls(Object(posted), Object(plan), Object(inputs)),
  holdersNow(read, plan) {
    const holderOf = createHoldersNow(Object(read), Object(plan));
    return (waiting) => holderOf(Object(waiting)).heldBy;
  },

  Withheld,
  createMemory: createDialerMemory,
  ledger: (ledger) => ledgerNaming([{}, {}], (read) => read, ledger),
  dialCalls: (requested, deps, deadline) =>
    dialCalls(requested.map(Object), Object(deps), deadline),
  dispatch: (deps, deadline) => dispatch(Object(deps), deadline),
  parse(value, hashKeys) {
    const read = readDialPlan(value);
    if ("problems" in read) throw new Error(JSON.stringify(read.problems));
    const { plan } = read;
    const table = createRouteTable(plan);
    const schedule = createSchedule(table, log);
    return { agents: plan.agents, settings: { plan, table, schedule, hashKeys, providerOf } };
  },
  decide: (asked, settings) => {
    const { delivered, row, ahead } = asked;
    const decision = decide(delivered, row, { ...decideNow(asked, settings), ahead });
    if (decision.kind !== "dial") return decision;
    const { kind, target, dialAt, call, row: read } = decision;
    return { kind, route: target.route, dialAt, call, row: read };
  },
  decideFirst: (asked, settings) => {
    const known = decideNow(asked, settings);
    const call = known.resolver.resolve(asked.call, undefined);
    const facts = { ...known, at: known.now };
    return [judgeLost, judgeFirstRow].map((judge) =>
      toDecided(judge(call, ends, facts), known.now),
    );
  },
  beforeClaim: async (asked, settings) => {
    const { clock, deadline, stopped } = asked;
    const deps = { settings, clock, log };
    const dial = dialIn(asked, settings);
    const delivery = { deps, deadline, stopped, documents: readOnce(asked) };
    const verdict = await findObstacle(dial, Object(delivery));
    const { firstDueAt = 0 } = verdict?.kind === "hold" ? verdict : {};
    return verdict && toDecided(verdict, dial.row?.dueAt ?? firstDueAt);
  },
  orders: (asked, settings) => {
    const { claim, documents, clock } = asked;
    const dial = dialIn(asked, settings);
    const delivery = { deps: { settings, clock }, stopped: new Set() };
    return [orders, permitTime].map((judges) =>
      settledBy(judgeOrders({ dial }, { read: documents, judges }, Object(delivery)), dial, claim),
    );
  },
  byClock: (asked, settings) => {
    const { claim, laterMs, clock } = asked;
    const dial = dialIn(asked, settings);
    const verdict = judgeClock(
      { dial, ...claim },
      { preliminaryMs: laterMs },
      Object({ settings, clock }),
    );
    return settledBy(verdict, dial, claim);
  },
  acceptance: ({ call }, settings) =>
    findPlanErrors(call.request, callerOf(call), Object(settings)),
};
