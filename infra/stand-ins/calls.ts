import { randomBytes, randomUUID } from "node:crypto";

/** Progress of a call that a test has set. Several providers give a queued call no times yet. */
type CallStatus = "queued" | "in-progress" | "ended";

/** A call as the stand-in of a provider keeps it, whatever the provider's own form of it. */
export interface StandInCall {
  /** The provider's id. */
  id: string;
  number: string;
  /** Id of our call that the request carried, where the provider has a field for it. */
  ourId?: string | undefined;
  /** Time of the request, in milliseconds since the epoch. */
  at: number;
  /** The request's body, as parsed. */
  request: Record<string, unknown>;
  /** Tests may set it, and records follow. Default: the call lives by the clock (`progressOf`). */
  status?: CallStatus;
  /** The provider's reason of an end, in the provider's words. */
  endedReason?: string;
  /** Id of the call that this one is a child leg of. */
  parentId?: string;
}

/** Properties of the lists that a stand-in answers with. */
interface Listing {
  /** Age from which a call is listed. */
  lagSeconds: number;
  /** True if each call is listed twice. */
  hasDuplicates: boolean;
}

/** Calls beside those that were asked for, which a look-up must not take for them. */
type BesideKind =
  /** Another application's call from the same account, to another number at the same time. */
  | "neighbour"
  /** A second leg that the provider has made for the call: to its number, at its time. */
  | "child_leg"
  /** A call to the same number an hour earlier. */
  | "older";

/** The calls of a stand-in. */
export interface Calls {
  /** Calls that were placed, in order. Nothing is ever removed. */
  readonly placed: readonly StandInCall[];
  readonly listing: Listing;
  /** Keeps a call as placed now. */
  place(call: Pick<StandInCall, "id" | "number" | "ourId" | "request">): StandInCall;
  /** Adds a call that nobody has asked this stand-in for, and returns it. */
  addBeside(kind: BesideKind, call: StandInCall): StandInCall;
  /** Returns the calls that a list has now, newest first. */
  listed(): StandInCall[];
  /** Returns a call by the provider's id, whether lists have it yet or not. */
  find(id: string): StandInCall | undefined;
  /** Returns how often a number was phoned. */
  timesTo(number: string): number;
  /** Returns the numbers that were phoned more than once. */
  phonedTwice(): string[];
  /** Returns the ids of our calls that were placed more than once. */
  placedTwice(): string[];
}

/** Creates the memory of a stand-in. `now` is in milliseconds since the epoch. */
export function createCalls(now: () => number): Calls {
  const placed: StandInCall[] = [];
  const beside: StandInCall[] = [];
  const listing: Listing = { lagSeconds: 0, hasDuplicates: false };
  const all = () => [...placed, ...beside];
  return {
    placed,
    listing,
    place(call) {
      const kept: StandInCall = { ...call, at: now() };
      placed.push(kept);
      return kept;
    },
    addBeside(kind, call) {
      const added = { ...call, ...differenceOf(kind, call), id: like(call.id) };
      beside.push(added);
      return added;
    },
    listed() {
      const latest = now() - listing.lagSeconds * 1000;
      const listed = all()
        .filter(({ at }) => at <= latest)
        .toSorted((one, other) => other.at - one.at);
      return listing.hasDuplicates ? listed.flatMap((call) => [call, call]) : listed;
    },
    find: (id) => all().find((call) => call.id === id),
    timesTo: (number) => placed.filter((call) => call.number === number).length,
    phonedTwice: () => repeated(placed.map(({ number }) => number)),
    placedTwice: () => repeated(placed.flatMap(({ ourId }) => ourId ?? [])),
  };
}

function differenceOf(kind: BesideKind, call: StandInCall): Partial<StandInCall> {
  const kept = Object.entries(call.request).filter(([name]) => !ofOneCall.has(name));
  const strange = { ourId: undefined, request: Object.fromEntries(kept) };
  switch (kind) {
    case "neighbour":
      return { ...strange, number: "+12025550199" };
    case "child_leg":
      return { ...strange, parentId: call.id };
    case "older":
      return { ...strange, at: call.at - 3_600_000, status: "ended" };
  }
}

/** Fields of requests in which our id goes. A call of somebody else's has only the others, such as the calling number. */
const ofOneCall = new Set([
  "Attributes",
  "ClientToken",
  "CustomField",
  "Twiml",
  "Url",
  "answer_url",
  "client_state",
  "command_id",
  "conversation_initiation_client_data",
  "customer",
  "metadata",
  "ncco",
  "participant_attributes",
  "room_name",
]);

/** Returns another id of the same form: the last characters differ. */
function like(id: string): string {
  return id.slice(0, -8) + randomBytes(4).toString("hex");
}

function repeated(texts: string[]): string[] {
  const seen = new Set<string>();
  const again = new Set<string>();
  for (const text of texts) (seen.has(text) ? again : seen).add(text);
  return [...again];
}

/** Makes an id such as `CA` and 32 hexadecimal digits. */
export function hexId(prefix: string): string {
  return prefix + randomUUID().replaceAll("-", "");
}
