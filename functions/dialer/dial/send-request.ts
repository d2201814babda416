import { keyReadMs, slowMs } from "../../../shared/lib/timing.ts";
import type { Route } from "../../../shared/calls/call-request.ts";
import { findReceiver } from "../../../shared/dial-plan/receivers.ts";
import { type ControlDocuments, findCurrentSince } from "../../../shared/policy/controls.ts";
import type { DocumentChange } from "../../../shared/ports/documents.ts";
import type { DocumentsRead } from "../../../shared/ports/document-kinds.ts";
import type { DialOutcome } from "../../../shared/providers/provider.ts";
import { callbackAddressAlong } from "../../../shared/settings/callback-url.ts";
import type { DialerDeps, DialerSettings } from "../runtime/context.ts";
import { type Claim, type Delivery, type Refusal, settleBy, toWaiting } from "./delivery.ts";
import { failRequest } from "./stage-errors.ts";
import type { Decided } from "../../../shared/calls/transitions.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { type Send, Withheld } from "../../../shared/lib/http-client.ts";
import { clock as byClock, orders } from "../../../shared/rules/gates.ts";
import { findVerdict } from "../../../shared/rules/rule.ts";
import { judgeOrders } from "./claim-call.ts";

/** A sent request: its outcome, and the documents that allowed it. */
export interface Sent {
  outcome: DialOutcome;
  sentAt: number;
  answerMs: number;
  read: DocumentsRead;
}

/** Sends the request of a claimed call, through a last look that may withhold it. */
export async function sendRequest(
  claim: Claim,
  read: ControlDocuments,
  delivery: Delivery,
): Promise<Refusal | Sent> {
  const { deps } = delivery;
  const sentAt = deps.clock.now();
  let isUnderWay = true;
  void deps.clock.sleep(slowMs).then(() => {
    if (isUnderWay) return recordSlow(claim, read, deps);
    return undefined;
  });
  const lastLook = createLastLook(claim, read, delivery);
  const outcome = await request(claim, { ring: lastLook.ring, read }, deps);
  isUnderWay = false;
  if (outcome === undefined) return { refused: lastLook.refused() };
  return { outcome, sentAt, answerMs: deps.clock.now() - sentAt, read };
}

/** Sends the request. Undefined: the last look withheld it. */
async function request(
  claim: Claim,
  { ring, read }: Pick<LastLook, "ring"> & { read: DocumentsRead },
  deps: DialerDeps,
): Promise<DialOutcome | undefined> {
  const { settings } = deps;
  const { dial, row } = claim;
  const { route, account } = dial.target;
  const { timeoutSeconds, maxCallMinutes } = account;
  const attempt = row.attempt - (row.claims.length - 1);
  return settings
    .providerOf(route)
    .dial(
      {
        call: dial.call,
        attempt,
        timeoutSeconds,
        maxCallMinutes,
        ring,
        callbackUrl: toCallbackUrl(claim, { route, hashKey: urlKeyOf(read, deps) }, settings),
        tellsAnswer: findReceiver(row.client, settings.plan)?.types.includes("call.answered"),
      },
      route,
    )
    .catch((error: unknown) => failRequest(error, claim, deps));
}

/** Returns the URL to which the provider is to report the call's end. A resend repeats the first request's URL. */
function toCallbackUrl(
  { row, version }: Claim,
  { route, hashKey }: { route: Route; hashKey: string },
  { plan, publicUrl }: DialerSettings,
): string | undefined {
  if (publicUrl === undefined || plan.results === undefined) return undefined;
  const { id, numberHash } = row;
  const call = { id, claim: row.claims[0] ?? version, numberHash };
  return callbackAddressAlong(route, call, { publicUrl, hashKey });
}

/**
 * Returns the key of the codes of callback URLs: while HASH_KEY is rotated the former one, for as long as a process of the
 * API may lack the current one. It would answer 404, and the callee's opt-out in the callback would be lost.
 */
function urlKeyOf(read: DocumentsRead, { settings, clock }: DialerDeps): string {
  const { hashKeys } = settings;
  const { current, former } = hashKeys;
  if (former === undefined) return current;
  const since = findCurrentSince(read, hashKeys);
  return since !== undefined && clock.now() >= since + keyReadMs ? current : former;
}

/** The last look at a claimed call, right before the request by which the phone rings. */
export interface LastLook {
  /** Returns a `Send` that throws Withheld if the call may not go: see `DialRequest`. */
  ring(send: Send, secondsMax?: number): Send;
  /** Returns why the request was withheld. */
  refused(): Decided;
}

/** @param read the documents by which controls were checked before */
export function createLastLook(
  claim: Claim,
  read: ControlDocuments,
  delivery: Pick<Delivery, "deps" | "documents" | "stopped">,
): LastLook {
  const { deps, documents } = delivery;
  const { timeoutSeconds } = claim.dial.target.account;
  let refused: Decided | undefined;

  async function look(laterMs: number): Promise<Decided | undefined> {
    try {
      const now = await documents(deps.clock.now());
      if (now !== read) refused = judgeOrders(claim, { read: now, judges: orders }, delivery);
    } catch (error) {
      deps.log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
      refused = toWaiting("not_checked", claim);
    }
    return refused ?? judgeClock(claim, { laterMs }, deps);
  }

  return {
    ring: (send, secondsMax = timeoutSeconds) => {
      const laterMs = (timeoutSeconds - secondsMax) * 1000;
      return async (url, sent) => {
        refused = await look(laterMs);
        if (refused !== undefined) throw new Withheld(refused.reason);
        const mayLeave = () => {
          refused = judgeClock(claim, { laterMs }, deps);
          return refused === undefined;
        };
        return send(url, { ...sent, mayLeave });
      };
    },
    refused: () => refused ?? toWaiting("claim_too_old", claim),
  };
}

/**
 * Asks the clock whether a claimed call may go: its age, its checks, its expiry and the callee's hours.
 *
 * @param laterMs time that the adapter's earlier requests may have taken
 */
export function judgeClock(
  claim: Claim,
  { laterMs = 0 }: { laterMs?: number },
  { clock, settings }: DialerDeps,
): Decided | undefined {
  const { permission } = claim.dial;
  const now = clock.now();
  const claimedAt = Math.min(claim.startedAt, claim.row.claimedAt ?? claim.startedAt);
  const { schedule } = settings;
  const facts = { now, at: now, schedule, permission, claimedAt, laterMs };
  const verdict = findVerdict(byClock, claim.dial, facts);
  return verdict && settleBy(verdict, claim);
}

/** Weight of an answer in the average. */
const answerWeight = 0.3;
/** Minimum interval between equal writes of one process. */
const writtenAgainMs = 5_000;

/** Records the time of an answer for its account and its backlog. Never throws. */
export async function recordAnswerTime(
  claim: Claim,
  { answerMs, read }: { answerMs: number; read: DocumentsRead },
  deps: DialerDeps,
): Promise<void> {
  const [account, backlog] = namesOf(claim);
  // The backlog's calls take the time of their checks, too.
  const checkedMs = claim.dial.permission?.ms ?? 0;
  const times = [[account, answerMs] as const, [backlog, answerMs + checkedMs] as const];
  for (const [name, ms] of times) {
    const known = deps.memory.answers.get(name);
    const averageMs =
      known === undefined ? ms : known.averageMs + (ms - known.averageMs) * answerWeight;
    deps.memory.answers.set(name, { ...known, averageMs });
  }
  await writeChanges(claim, { read, isAnswered: true }, deps);
}

/**
 * Records that a request has been unanswered for two seconds. A backlog without any answer stays so, as few of its
 * calls may go at once until its first answer. Never throws.
 */
async function recordSlow(claim: Claim, read: DocumentsRead, deps: DialerDeps): Promise<void> {
  await raise(namesOf(claim), { call: claim, read }, deps);
}

/** Records that the checks of a call have taken two seconds, which concerns its backlog alone. Never throws. */
export async function recordSlowCheck(
  call: Pick<Claim, "dial" | "row">,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  await raise([namesOf(call)[1]], { call, read }, deps);
}

/** Raises the average answer times of these names above the limit. */
async function raise(
  names: readonly string[],
  { call, read }: { call: Pick<Claim, "dial" | "row">; read: DocumentsRead },
  deps: DialerDeps,
): Promise<void> {
  for (const name of names) {
    const known = deps.memory.answers.get(name);
    const averageMs = Math.max(known?.averageMs ?? 0, slowMs + 1);
    deps.memory.answers.set(name, { ...known, averageMs });
  }
  await writeChanges(call, { read, isAnswered: false }, deps);
}

function namesOf({ dial }: Pick<Claim, "dial">): [account: string, backlog: string] {
  return [`account ${dial.target.account.name}`, `backlog ${dial.backlog}`];
}

/**
 * Writes changed speeds to the documents of account and backlog. A write is dropped on a conflict, as the next answer
 * repeats it. Never throws: only a later version may be able to read one of the documents.
 */
async function writeChanges(
  claim: Pick<Claim, "dial" | "row">,
  of: { read: DocumentsRead; isAnswered: boolean },
  deps: DialerDeps,
): Promise<void> {
  try {
    const changes = listChanges(claim, of, deps);
    if (changes.length > 0) await deps.documents.write(changes);
  } catch (error) {
    deps.log("warning", "answers.not_recorded", { error: errorForLog(error) });
  }
}

/** Returns the changes of the documents of account and backlog, by what this process has measured and last written. */
function listChanges(
  claim: Pick<Claim, "dial" | "row">,
  { read, isAnswered }: { read: DocumentsRead; isAnswered: boolean },
  { clock, random, memory }: Pick<DialerDeps, "clock" | "random" | "memory">,
): DocumentChange[] {
  const [ofAccount, ofBacklog] = namesOf(claim);
  const version = random.version;
  const changes: DocumentChange[] = [];
  const isNews = (name: string, isKnown: (isQuick: boolean) => boolean): boolean | undefined => {
    const times = memory.answers.get(name);
    if (times === undefined) return undefined;
    const isQuick = times.averageMs <= slowMs;
    const { written } = times;
    const isSaid = written?.isQuick === isQuick && clock.now() - written.at < writtenAgainMs;
    if (isKnown(isQuick) || isSaid) return undefined;
    memory.answers.set(name, { ...times, written: { isQuick, at: clock.now() } });
    return isQuick;
  };
  const account = claim.dial.target.account.name;
  const accountRead = read.get("account", account);
  const quick = isNews(ofAccount, (isQuick) => (accountRead?.value.quick ?? false) === isQuick);
  if (quick !== undefined) {
    const value = { busy: false, ...accountRead?.value, quick };
    const next = {
      kind: "account" as const,
      key: account,
      version: version(),
      value,
      expiresAt: null,
    };
    changes.push({ next, seen: accountRead?.version ?? null });
  }
  // A backlog without a document has no waiting rows.
  const backlog = read.get("backlog", claim.dial.backlog);
  const answers = (isQuick: boolean) => (isQuick ? "quick" : "slow");
  const backlogQuick = isNews(
    ofBacklog,
    (isQuick) =>
      backlog === undefined ||
      backlog.value.answers === answers(isQuick) ||
      (backlog.value.answers === null && !isAnswered),
  );
  if (backlog !== undefined && backlogQuick !== undefined) {
    const value = { ...backlog.value, answers: answers(backlogQuick) } as const;
    changes.push({ next: { ...backlog, version: version(), value }, seen: backlog.version });
  }
  return changes;
}
