import { accountOf, findRoute } from "../../../shared/dial-plan/routes.ts";
import {
  accountBreakerOf,
  backlogBreakerOf,
  type BreakerDocument,
} from "../../../shared/policy/breakers.ts";
import type { StoredDocument } from "../../../shared/ports/documents.ts";
import { pauseKeysOf } from "../../../shared/policy/controls.ts";
import { type ControlDocuments, isTooFarAhead, sweepKey } from "../../../shared/policy/restore.ts";
import { accountNameOf, type Route } from "../../../shared/calls/route.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { readWithSuspension } from "../decide/read-controls.ts";
import { createBacklogList, pageDocuments } from "./backlog-list.ts";
import type { Servable } from "./shares.ts";

type Backlog = StoredDocument<"backlog">;

/** A backlog as a look sees it, with everything that bears on it. */
export interface Waiting extends Servable {
  backlog: Backlog;
  breaker: BreakerDocument | undefined;
  accountBreaker: BreakerDocument | undefined;
  isPaused: boolean;
  isSlow: boolean;
}

/** The documents that decide about turns, as a look has read them. */
export interface View {
  /** Reads all of them, in one round trip. Returns true if backlogs that are gone were forgotten. */
  read(): Promise<boolean>;
  /** Reads those of these backlogs again: they may have been answered meanwhile, or be in trouble. */
  readAgain(some: readonly Waiting[]): Promise<void>;
  /** A backlog's document; undefined: there is none. */
  documentOf(key: string): Backlog | undefined;
  /** A backlog whose agent has a route. */
  get(key: string): Waiting | undefined;
  all(): Iterable<Waiting>;
  /** The backlogs that no operator has paused. */
  allowed(): Waiting[];
  pausedAccounts(): Set<string>;
  breakerOf(account: string): BreakerDocument | undefined;
  accountDocument(account: string): StoredDocument<"account"> | undefined;
  /** The theoretical arrival time of an account's pace, see rate.ts. */
  arrivalUsOf(account: string): number;
  hasPace(one: Waiting): boolean;
  /** True while nothing may be dispatched: after a restore, or while a restore would not be noticed. */
  isSuspended(): boolean;
  /** True in the midst of a listing: there may be backlogs that were never read. */
  isReading(): boolean;
}

export function createView(deps: DialerDeps): View {
  const { documents, settings } = deps;
  const { plan } = settings;
  const list = createBacklogList(deps);
  /** The account of each agent that has a backlog. */
  const accountNames = new Map<Route, string>();
  let breakers = new Map<string, BreakerDocument>();
  let pauses: ReadonlySet<string> = new Set();
  let state: ControlDocuments = { get: () => undefined, isSuspended: true };
  let waiting = new Map<string, Waiting>();

  function seeAll(): void {
    waiting = new Map();
    for (const backlog of list.all()) {
      const { key, value } = backlog;
      const route = findRoute(value.agentId, plan);
      if (route === undefined) continue;
      const account = accountNames.get(route) ?? accountNameOf(route);
      accountNames.set(route, account);
      const breaker = breakers.get(backlogBreakerOf(value));
      const isAccountQuick = state.get("account", account)?.value.quick === true;
      waiting.set(key, {
        key,
        backlog,
        account,
        route,
        breaker,
        accountBreaker: breakers.get(accountBreakerOf(account)),
        isPaused:
          pauses.size > 0 && pauseKeysOf(value.agentId, route).some((one) => pauses.has(one.key)),
        isSlow: isSlow({ answers: value.answers, breaker }, isAccountQuick),
      });
    }
  }

  return {
    async read() {
      const accounts = [...new Set(Object.values(plan.agents).map(accountNameOf))];
      const keys = accounts.flatMap((key) => [{ kind: "account", key } as const, paceKeyOf(key)]);
      const [read, listedBreakers, listedPauses, isListed] = await Promise.all([
        readWithSuspension(keys, deps),
        documents.list("breaker", { limit: pageDocuments }),
        documents.list("pause", { limit: pageDocuments }),
        list.readOn(),
      ]);
      state = read;
      breakers = new Map(listedBreakers.map((one) => [one.key, one]));
      pauses = new Set(listedPauses.map(({ key }) => key));
      seeAll();
      return isListed;
    },
    async readAgain(some) {
      const keys = some.flatMap(({ key, account, backlog }) => [
        { kind: "backlog", key } as const,
        { kind: "breaker", key: backlogBreakerOf(backlog.value) } as const,
        { kind: "breaker", key: accountBreakerOf(account) } as const,
      ]);
      const read = await documents.read([...new Map(keys.map((one) => [one.key, one])).values()]);
      for (const { kind, key } of keys) {
        if (kind === "breaker") {
          const breaker = read.get(kind, key);
          if (breaker === undefined) breakers.delete(key);
          else breakers.set(key, breaker);
        } else {
          const backlog = read.get(kind, key);
          if (backlog !== undefined) list.put(backlog);
        }
      }
      seeAll();
    },
    documentOf: (key) => list.get(key),
    get: (key) => waiting.get(key),
    all: () => waiting.values(),
    allowed: () => [...waiting.values()].filter(({ isPaused }) => !isPaused),
    pausedAccounts() {
      const paused = [...waiting.values()].filter(({ isPaused }) => isPaused);
      return new Set(paused.map(({ account }) => account));
    },
    breakerOf: (account) => breakers.get(accountBreakerOf(account)),
    accountDocument: (account) => state.get("account", account),
    arrivalUsOf: (account) => state.get("pace", account)?.value.arrivalUs ?? 0,
    hasPace: ({ route }) => accountOf(route, plan).pace !== undefined,
    isSuspended() {
      const sweep = state.get(sweepKey.kind, sweepKey.key)?.value;
      return state.isSuspended || (sweep !== undefined && isTooFarAhead(sweep));
    },
    isReading: list.isReading,
  };
}

/** True if calls of a backlog may hold a delivery for long, by everything that is known of it and its account. */
export function isSlow(
  {
    answers,
    breaker,
  }: { answers: Backlog["value"]["answers"]; breaker: BreakerDocument | undefined },
  isAccountQuick: boolean,
): boolean {
  if (breaker?.value.state === "open" && breaker.value.cause === "unreachable") return true;
  return answers === "slow" || (answers === null && !isAccountQuick);
}
