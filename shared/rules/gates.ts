import * as breaker from "./breaker.ts";
import * as callerIds from "./caller-ids.ts";
import * as callsPerDay from "./calls-per-day.ts";
import * as cancellation from "./cancellation.ts";
import * as cap from "./cap.ts";
import * as capacity from "./capacity.ts";
import * as checks from "./checks.ts";
import * as claimAge from "./claim-age.ts";
import * as context from "./context.ts";
import * as destination from "./destination.ts";
import * as doNotCall from "./do-not-call.ts";
import * as earlierTries from "./earlier-tries.ts";
import * as erasure from "./erasure.ts";
import * as expiry from "./expiry.ts";
import * as firstRow from "./first-row.ts";
import * as hours from "./hours.ts";
import * as liveCalls from "./live-calls.ts";
import * as lostByRestore from "./lost-by-restore.ts";
import * as notBefore from "./not-before.ts";
import * as pace from "./pace.ts";
import * as pause from "./pause.ts";
import * as restore from "./restore.ts";
import * as route from "./route.ts";
import type {
  BacklogRoomOf,
  ClaimFacts,
  ClockFacts,
  Facts,
  Halts,
  Hold,
  HoldersOf,
  Judge,
  KeyedAccount,
  KeyedBacklog,
  KeyedNumber,
  Keys,
  Leads,
  Peek,
  RestsUntil,
  RoomOf,
  Simulate,
  Stops,
  Take,
  Texts,
  UsedOf,
} from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { Documents } from "../ports/documents.ts";
import * as turn from "./turn.ts";

// Every order in which rules are asked whether a phone may ring now. Each entry has a line of its own, so that a test
// can remove it. Lists are joined by a pure call, so that a bundle leaves out those that it does not use.

/** Documents of an account, beside its breaker, by which its calls are decided. */
const judgedOfAccount: readonly Keys<KeyedAccount>[] = [
  turn.keys,
  pace.keys,
  callsPerDay.keys,
  callerIds.keys,
];

/** Documents by which calls of a client and agent are decided, beside those of each call. */
export const backlogKeys: readonly Keys<KeyedBacklog>[] = /* @__PURE__ */ joined<
  Keys<KeyedBacklog>
>([pause.keys, breaker.keys], judgedOfAccount);

/** The same for forecasts, which say when lines become free, and what holds all calls. */
export const forecastKeys: readonly Keys<KeyedBacklog>[] = /* @__PURE__ */ joined<
  Keys<KeyedBacklog>
>(backlogKeys, [liveCalls.keys, restore.keys]);

/** Documents of orders on waiting calls, and on requests of which no call was read whole. */
export const orderKeys = cancellation.keys;
export const requestKeys = cancellation.requestKeys;

/** Documents of an account on which its room depends. */
export const accountKeys: readonly Keys<KeyedAccount>[] = /* @__PURE__ */ joined(judgedOfAccount, [
  liveCalls.keys,
]);

/** Documents of an account's limits, which each of its calls changes. */
export const countedKeys: readonly Keys<KeyedAccount>[] = [
  pace.keys,
  callsPerDay.keys,
  liveCalls.keys,
];

/** Documents of each call. */
export const callKeys: readonly Keys<Pick<ResolvedCall, "call" | "hashes">>[] = [
  cancellation.keys,
  doNotCall.keys,
  pause.splitKeys,
];

/** Documents of a call's number that most deployments lack. They are read only if there may be some. */
export const rareNumberKeys: readonly Keys<KeyedNumber>[] = [doNotCall.clientKeys, erasure.keys];

/** Ends of a call, whatever its pauses, breakers and paces: of a fresh row, a try, a resend and a forecast. */
export const ends: readonly Judge<firstRow.FirstRowFacts>[] = [
  erasure.admit,
  cancellation.admit,
  cap.admit,
  expiry.admit,
  destination.admit,
  doNotCall.admit,
  context.admit,
];

/** Waits of a call along its route, for its account, its backlog and the calls before it. */
const waits: readonly Judge[] = [
  pause.admit,
  callsPerDay.admit,
  checks.admit,
  breaker.admit,
  turn.admit,
  pace.admit,
  turn.inDelivery,
];

/** Stops of all work on calls: deliveries write nothing about unknown calls, and no row is decided. */
export const halts: readonly Halts[] = [restore.halts];

/** The same for a dispatcher. */
export const dispatchHalts: readonly Halts[] = [restore.haltsDispatch];

/**
 * Rules that decide by the documents of a fresh call's number, though the call is only to get a row. The documents
 * are read then.
 */
export const numberNeeds: readonly ((
  call: Pick<ResolvedCall, "call">,
  documents: Facts["documents"],
) => boolean)[] = [lostByRestore.needsNumber];

/** Before everything else, of every row and fresh call: documents as just read. */
export const trusted: readonly Judge[] = [restore.admit, /* @__PURE__ */ lostByRestore.admit(ends)];

/** A call that nobody has dialed, by documents that were just read, for the time at which it would leave. */
export const delivery: readonly Judge[] = /* @__PURE__ */ joined<Judge>(
  ends,
  [route.admit, notBefore.admit, hours.admit],
  waits,
  [callerIds.admit, breaker.probeTime],
);

/** A call of unknown outcome along its first route, beside `ends`: a resend may ring, so it needs what a first request needs. */
export const resend: readonly Judge[] = /* @__PURE__ */ joined(waits, [hours.admit]);

/** Time alone, for a call whose other documents are judged elsewhere: in forecasts, and by what holds a call now. */
export const byTime: readonly Judge<Pick<Facts, "at" | "schedule">>[] = [
  cap.admit,
  expiry.admit,
  notBefore.admit,
  hours.admit,
];

/** Right before the claim, which would be useless: the clock first, then what the delivery knows. */
export const beforeClaim: readonly Judge<ClockFacts>[] = [
  cap.admit,
  expiry.admit,
  checks.beforeClaim,
  capacity.beforeClaim,
  hours.admit,
];

/** The same by the delivery itself, without a read. */
export const beforeClaimInDelivery: readonly Judge<ClockFacts>[] = [turn.stay];

/** The same by documents that may be some seconds old. Unreadable ones let the call pass, as orders are read again. */
export const beforeClaimByDocuments: readonly Judge<Pick<Facts, "at" | "documents">>[] = [
  breaker.beforeClaim,
];

/** Ports, and what a delivery shares, by which claimed calls take what they need. */
export type TakeContext = Parameters<typeof cap.take>[1] &
  Parameters<typeof callsPerDay.take>[1] &
  Parameters<typeof earlierTries.take>[1] &
  Parameters<typeof liveCalls.take>[1] &
  Parameters<typeof pace.take>[1] & {
    /** Documents in which a rule may count what it takes. */
    documents: Pick<Documents, "add">;
  };

/** Under the claim, all at once. The first one in this order that could not be taken says why. */
export const takes: readonly Take<TakeContext>[] = [
  earlierTries.take,
  pace.take,
  cap.take,
  callsPerDay.take,
  liveCalls.take,
];

/** Looks, before a call's checks, at what the call takes later, because its checks would otherwise be asked for nothing. */
export const peeks: readonly Peek<Parameters<typeof cap.peek>[1]>[] = [cap.peek];

type Ordered = Pick<Facts, "at" | "documents">;

/** Orders that may have come since the decision: at the permit's time, and at the last look if they were read again. */
export const orders: readonly Judge<Ordered>[] = [
  restore.admit,
  erasure.admit,
  cancellation.admit,
  doNotCall.admit,
  pause.admit,
];

/** At the permit's time, before the breaker's probe is taken. */
export const permitTime: readonly Judge<Ordered & Pick<ClockFacts, "stopped">>[] =
  /* @__PURE__ */ joined<Judge<Ordered & Pick<ClockFacts, "stopped">>>(orders, [turn.stay]);

/** The clock: after the probe, at the last look, and once the connection stands. No await lies between it and the request. */
export const clock: readonly Judge<ClaimFacts>[] = [
  claimAge.stay,
  checks.stay,
  expiry.stay,
  hours.stay,
];

/** Room of an account for further calls, beside its pace and what it has taken at once so far. The first full one says why. */
export const rooms: readonly RoomOf[] = [breaker.room, callsPerDay.room, liveCalls.room];

/** Room of a backlog for further calls, beside its account's. The first that bounds it decides. */
export const backlogRooms: readonly BacklogRoomOf[] = [breaker.backlogRoom, turn.backlogRoom];

/** Verdicts on a call that no judge was asked about: its turn, a connection, the probe, and a lapsed claim. */
export const inTurn: Hold = turn.held;
export const unconnected: Hold = capacity.held;
export const unprobed: Hold = breaker.held;
export const lapsed: Hold = claimAge.held;

/** Reason of a call that expired, whatever kept it waiting. */
export const expired = expiry.reason;

/** Maximum requests at once of accounts. */
export const requestLimits = capacity.limitsOf;

/** Open breakers that a call's request probes, and the name of one for people. */
export const probedBy = breaker.probedBy;
export const breakerName = breaker.breakerName;

/** Kinds of documents that the dispatcher lists whole, as it looks at each of its backlogs. */
export const listedKinds = ["breaker", "pause"] as const;

/** Questions of the dispatcher to one rule: what of a route troubles it, until when it refuses, and an account's permits. */
export const unreadAlong = breaker.unreadAlong;
export const isHanging = breaker.isHanging;
export const refusedUntil = breaker.restsUntil;
export const isTroubled = breaker.isTroubled;
export const isAccountTroubled = breaker.isAccountTroubled;
export const permitsOf = pace.permits;
export const isPaced = pace.isPaced;
export const takenUntil = pace.takenUntil;

/** Reasons for which an account's calls wait for others that are under way, whose results are polled then. */
export const polledFor: readonly string[] = [liveCalls.held.reason];

/** Limits of an account with how far they are used, for operators. */
export const uses: readonly UsedOf[] = [liveCalls.used, callsPerDay.used];

/** Waits during which the dispatcher dispatches no calls of a backlog. */
export const stops: readonly Stops[] = [pause.stops, callerIds.stops];

/** Rests of a backlog during which the dispatcher need not look at it. */
export const rests: readonly RestsUntil[] = [breaker.restsUntil, callsPerDay.restsUntil];

/** Whatever may hold all calls of a client and agent. Forecasts name the one that lasts longest. */
export const holders: readonly HoldersOf[] = [
  restore.holders,
  pause.holders,
  breaker.holders,
  callerIds.holders,
];

/** Documents of pools of numbers, and which of these pools rest. */
export const poolKeys = callerIds.keys;
export const poolHolders = callerIds.holders;

/** Limits of an account in the queues of a forecast. Each begins where the one before it leaves room. */
export const simulated: readonly Simulate[] = [liveCalls.simulate, callsPerDay.simulate];

/** The permits of an account, and the caps of numbers, in the same queues. */
export const simulatedPermits = pace.simulate;
export const simulatedNumbers = cap.simulate;

/** Documents of the caps of a call's number, and what they say. */
export const capKeys = cap.numberKeys;
export const calledAt = cap.timesIn;

/** Ends of a call that acceptance does not know of. */
export const endsUnknown: readonly Judge<Pick<Facts, "documents" | "at">>[] = [doNotCall.admit];

/** The reason for which every call waits while the list cannot be read. */
export const findUnreadList = doNotCall.holdsAll;

/** Documents of a number, beside the rare ones and those of its caps. */
export const numberKeys: readonly Keys<Pick<ResolvedCall, "hashes">>[] = [doNotCall.numberKeys];

/** Time that a call may need before its request, as something is asked first. */
export const leads: readonly Leads[] = [checks.leads];

/** Sentences and facts of each rule's reasons, for operators. */
export const texts: readonly Texts[] = [
  breaker.texts,
  callerIds.texts,
  callsPerDay.texts,
  cancellation.texts,
  cap.texts,
  capacity.texts,
  checks.texts,
  claimAge.texts,
  context.texts,
  destination.texts,
  doNotCall.texts,
  earlierTries.texts,
  erasure.texts,
  expiry.texts,
  firstRow.texts,
  hours.texts,
  liveCalls.texts,
  notBefore.texts,
  pace.texts,
  pause.texts,
  restore.texts,
  route.texts,
  turn.texts,
];

/** Joins lists into one. */
function joined<One>(...lists: readonly (readonly One[])[]): readonly One[] {
  return lists.flat();
}
