import { toCallId } from "#shared/calls/ids.ts";
import { parseValue, type StoredText, type ValueOf } from "#shared/ports/document-kinds.ts";
import { openStates } from "./event-rules.ts";

/**
 * Returns the time at which a sweep has something to do at the latest: the due time of the first row, event or request.
 * Behind an open breaker the events of a receiver wait for its next probe.
 */
export function nextWorkAt(
  rows: ReadonlyMap<string, StoredRow>,
  documents: ReadonlyMap<string, StoredText>,
): number {
  const probeAtOf = (receiver: string): number => {
    const found = documents.get(`breaker receiver:${receiver}`);
    const { state, probeAt } = found ? parseValue("breaker", JSON.parse(found.json)) : {};
    return state === "open" && probeAt !== undefined ? probeAt : 0;
  };
  const times = [...rows.values()].flatMap((stored) => {
    const { dueAt = Infinity, deliverTo = "", deliverAt = Infinity } = textOf(stored);
    const receiver = /^events:(.*)$/.exec(deliverTo)?.[1];
    return receiver === undefined ? [dueAt] : [dueAt, Math.max(deliverAt, probeAtOf(receiver))];
  });
  const ofRequests = [...documents.values()].flatMap((stored) => {
    if (stored.kind !== "request") return [];
    const { key } = stored;
    const value = requestOf(stored);
    if (value.finishedAt !== null) {
      const probes = ["*", "second"].map(probeAtOf);
      return value.dueAt === undefined ? [] : [Math.max(value.dueAt, ...probes)];
    }
    const next = rows.get(toCallId(key, value.finished));
    const { state = "WAITING", dueAt } = next ? textOf(next) : {};
    return openStates.has(state) || dueAt !== undefined ? [] : [0];
  });
  return Math.min(Infinity, ...times, ...ofRequests);
}

interface StoredRow {
  json: string;
}

interface RowText {
  state?: string;
  dueAt?: number;
  deliverTo?: string;
  deliverAt?: number;
}

/** Stored values as they were parsed: a write stores another object. A simulated clock asks for all of it at each tick. */
const texts = new WeakMap<StoredRow, RowText>();
const requests = new WeakMap<StoredText, ValueOf<"request">>();

function textOf(stored: StoredRow): RowText {
  const known = texts.get(stored);
  if (known !== undefined) return known;
  const parsed: RowText = JSON.parse(stored.json);
  texts.set(stored, parsed);
  return parsed;
}

function requestOf(stored: StoredText): ValueOf<"request"> {
  const known = requests.get(stored);
  if (known !== undefined) return known;
  const parsed = parseValue("request", JSON.parse(stored.json));
  requests.set(stored, parsed);
  return parsed;
}
