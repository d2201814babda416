import { backlogOf } from "#shared/calls/call-row.ts";
import type {
  DocumentKey,
  DocumentsRead,
  FoundDocument,
  Kind,
  StoredDocument,
} from "#shared/ports/document-kinds.ts";
import { isReadable, toRead } from "#shared/ports/found-documents.ts";
import type { RouteTable } from "#shared/dial-plan/route-table.ts";
import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { createResolver, type Resolver } from "#shared/rules/resolved-call.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { readWithSuspension } from "../runtime/epoch.ts";
import { type BacklogList, createBacklogList, pageDocuments } from "./backlog-list.ts";
import type { Servable } from "./shares.ts";
import {
  accountKeys,
  dispatchHalts,
  isHanging,
  listedKinds,
  refusedUntil,
  stops,
  unreadAlong,
} from "#shared/rules/gates.ts";
import { distinctKeys, listKeys } from "#shared/rules/rule.ts";

/** Maximum pages of breakers, and of pauses, that a tick reads. */
const pagesMax = 4;

type Backlog = StoredDocument<"backlog">;

/** A backlog with everything that controls it. */
export interface Waiting extends Servable {
  backlog: Backlog;
  /** True if a pause or a resting pool keeps all its calls waiting. */
  isStopped: boolean;
  isSlow: boolean;
}

/** The documents that turns depend on, as one dispatcher last read them. */
export interface Snapshot {
  /** Reads all of them, in one round trip. Returns true if removed backlogs were forgotten. */
  read(): Promise<boolean>;
  /** Returns a backlog's document, if there is one. */
  documentOf(key: string): Backlog | undefined;
  /** Returns a backlog, if its agent has a route. */
  get(key: string): Waiting | undefined;
  all(): Iterable<Waiting>;
  /** Returns the backlogs whose calls may be taken up. */
  allowed(): Waiting[];
  /** Returns the accounts of the other backlogs. */
  stoppedAccounts(): Set<string>;
  /** Returns the time of the next probe of an open breaker of a backlog or of its account; 0 if none is open. */
  refusesUntil(backlog: string): number;
  accountDocument(account: string): StoredDocument<"account"> | undefined;
  /** Returns the documents of accounts and of the sweep, breakers and pauses, as read. */
  documents(): DocumentsRead;
  /** True while nothing may be dispatched. */
  isHalted(): boolean;
  /** True during a listing. There may be backlogs that were never read. */
  isReading(): boolean;
}

/** Documents other than backlogs. */
interface Controls {
  /** Documents of each account, apart from its breaker. */
  keysOf: ReadonlyMap<string, readonly DocumentKey[]>;
  /** These documents, the sweep's, and all breakers and pauses. */
  state: ControlDocuments;
}

/** The account, or the backlog, whose calls wait because a document of it is unreadable. */
type UnreadableOf = { account: string } | { client: string; agent_id: string };

export function createSnapshot(
  deps: Pick<DialerDeps, "documents" | "epochStore" | "settings" | "clock" | "log" | "memory">,
): Snapshot {
  const warnedOf = new Set<string>();
  const warn = (of: UnreadableOf) => {
    const name = JSON.stringify(of);
    if (!warnedOf.has(name)) deps.log("alarm", "document.unreadable", { ...of });
    warnedOf.add(name);
  };
  const { table } = deps.settings;
  const list = createBacklogList(deps);
  let controls: Controls | undefined;
  let waiting = new Map<string, Waiting>();
  return {
    async read() {
      const tests = testRoutesIn(list, table); // a new one is known from the next tick on
      const [read, isListed] = await Promise.all([readControls(tests, deps), list.readOn()]);
      controls = read;
      const resolver = createResolver(table, () => undefined);
      const now = deps.clock.now();
      waiting = toWaiting(withAnswers(list), read, { resolver, now, warn });
      return isListed;
    },
    documentOf: (key) => list.get(key),
    get: (key) => waiting.get(key),
    all: () => waiting.values(),
    allowed: () => [...waiting.values()].filter(({ isStopped }) => !isStopped),
    stoppedAccounts() {
      const stopped = [...waiting.values()].filter(({ isStopped }) => isStopped);
      return new Set(stopped.map(({ account }) => account));
    },
    refusesUntil(key) {
      const one = waiting.get(key);
      if (one === undefined || controls === undefined) return 0;
      return refusedUntil(one.target, { documents: controls.state });
    },
    accountDocument: (account) => controls?.state.get("account", account),
    documents: () => controls?.state ?? toRead(() => undefined),
    isHalted() {
      const state = controls?.state;
      return state === undefined || dispatchHalts.some((stop) => stop(state));
    },
    isReading: list.isReading,
  };
}

/** Returns the routes of the backlogs of test calls, whose accounts no plan names. */
function testRoutesIn(list: BacklogList, table: RouteTable): Route[] {
  return [...list.all()].flatMap(({ value }) =>
    value.mode === "test" ? (table.find(value) ?? []) : [],
  );
}

async function readControls(
  tests: readonly Route[],
  deps: Pick<DialerDeps, "documents" | "epochStore" | "settings" | "clock" | "log" | "memory">,
): Promise<Controls> {
  const { settings } = deps;
  const { table } = settings;
  const now = deps.clock.now();
  const routes = [...Object.values(table.plan.agents), ...tests];
  const targets = routes.map((route) => ({ target: { route, account: table.account(route) } }));
  const byAccount = Map.groupBy(targets, ({ target }) => target.account.name);
  const keysOf = new Map(
    [...byAccount].map(([account, own]) => [account, listKeys(accountKeys, own, now)]),
  );
  const [read, ...lists] = await Promise.all([
    readWithSuspension(distinctKeys([...keysOf.values()].flat()), deps),
    ...listedKinds.map((kind) => listWhole(kind, deps)),
  ]);
  return { keysOf, state: withListed(read, lists) };
}

/** Lists the documents of a kind. Those beyond the last page have no effect on turns, only on the calls themselves. */
async function listWhole(
  kind: Kind,
  { documents }: Pick<DialerDeps, "documents">,
): Promise<FoundDocument[]> {
  const found: FoundDocument[] = [];
  for (let page = 0; page < pagesMax; page++) {
    const listed = await documents.list(kind, { after: found.at(-1)?.key, limit: pageDocuments });
    found.push(...listed);
    if (listed.length < pageDocuments) break;
  }
  return found;
}

/** Returns documents as read by their keys, and as listed of `listedKinds`. */
function withListed(
  read: ControlDocuments,
  lists: readonly (readonly FoundDocument[])[],
): ControlDocuments {
  const listed = new Map<Kind, ReadonlyMap<string, FoundDocument>>(
    listedKinds.map((kind, index) => [kind, new Map(lists[index]?.map((one) => [one.key, one]))]),
  );
  return {
    ...read,
    ...toRead(<K extends Kind>(kind: K, key: string) => {
      const own = listed.get(kind);
      if (own === undefined) return read.find(kind, key);
      const found = own.get(key);
      return found !== undefined && isOfKind(found, kind) ? found : undefined;
    }),
  };
}

function isOfKind<K extends Kind>(document: FoundDocument, kind: K): document is FoundDocument<K> {
  return document.kind === kind;
}

/** Returns the backlogs, an urgent one with the answers to all calls of its client and agent. */
function* withAnswers(list: BacklogList): Iterable<Backlog> {
  for (const one of list.all()) {
    const { value } = one;
    const answers = value.isUrgent === true ? list.get(backlogOf(value))?.value.answers : undefined;
    yield answers === undefined ? one : { ...one, value: { ...value, answers } };
  }
}

/** True if this version can read those of the documents that there are. */
function areReadable(keys: readonly DocumentKey[], read: DocumentsRead): boolean {
  return keys.every(({ kind, key }) => {
    const found = read.find(kind, key);
    return found === undefined || isReadable(found);
  });
}

/** The means by which the backlogs of one tick are put together. */
interface Resolving {
  resolver: Resolver;
  now: number;
  warn(of: UnreadableOf): void;
}

/**
 * Combines everything that affects each backlog whose agent has a route. A backlog waits, like one without a route,
 * while only a later version can read a document of it or of its account: the others must continue.
 */
function toWaiting(
  backlogs: Iterable<Backlog>,
  { keysOf, state }: Controls,
  { resolver, now, warn }: Resolving,
): Map<string, Waiting> {
  const waiting = new Map<string, Waiting>();
  const known = new Map<string, boolean>();
  const facts = { documents: state, now };
  const isKnown = (name: string): boolean => {
    const isIt = known.get(name) ?? areReadable(keysOf.get(name) ?? [], state);
    known.set(name, isIt);
    return isIt;
  };
  for (const backlog of backlogs) {
    const { key, value } = backlog;
    const target = resolver.find(value);
    if (target === undefined) continue;
    const account = target.account.name;
    const unread = unreadAlong(target, facts);
    if (unread === "account" || !isKnown(account)) {
      warn({ account: target.route.account });
      continue;
    }
    if (unread === "backlog") {
      warn({ client: value.client, agent_id: value.agentId });
      continue;
    }
    const isAccountQuick = state.get("account", account)?.value.quick === true;
    waiting.set(key, {
      key,
      backlog,
      allowanceKey: value.isUrgent === true ? backlogOf(value) : key,
      account,
      target,
      isStopped: stops.some((isStopped) => isStopped(target, facts)),
      isSlow: isHanging(target, facts) || isSlow(value.answers, isAccountQuick),
    });
  }
  return waiting;
}

/** True if calls of a backlog may occupy a delivery for long, by the answers of the backlog and its account. */
export function isSlow(answers: Backlog["value"]["answers"], isAccountQuick: boolean): boolean {
  return answers === "slow" || (answers === null && !isAccountQuick);
}
