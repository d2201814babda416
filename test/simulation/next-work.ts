import { toCallId } from "#shared/calls/ids.ts";
import { parseValue, type StoredText } from "#shared/ports/document-kinds.ts";
import { openStates } from "./event-rules.ts";

/**
 * Returns the time at which a sweep has something to do at the latest: the due time of the first row, event or request.
 * Behind an open breaker the events of a receiver wait for its next probe.
 */
export function nextWorkAt(
  rows: ReadonlyMap<string, { json: string }>,
  documents: ReadonlyMap<string, StoredText>,
): number {
  const probeAtOf = (receiver: string): number => {
    const found = documents.get(`breaker receiver:${receiver}`);
    const { state, probeAt } = found ? parseValue("breaker", JSON.parse(found.json)) : {};
    return state === "open" && probeAt !== undefined ? probeAt : 0;
  };
  const times = [...rows.values()].flatMap(({ json }) => {
    const { dueAt = Infinity, deliverTo = "", deliverAt = Infinity }: RowText = JSON.parse(json);
    const receiver = /^events:(.*)$/.exec(deliverTo)?.[1];
    return receiver === undefined ? [dueAt] : [dueAt, Math.max(deliverAt, probeAtOf(receiver))];
  });
  const ofRequests = [...documents.values()].flatMap((stored) => {
    if (stored.kind !== "request") return [];
    const { key } = stored;
    const value = parseValue("request", JSON.parse(stored.json));
    if (value.finishedAt !== null) {
      const probes = ["*", "second"].map(probeAtOf);
      return value.dueAt === undefined ? [] : [Math.max(value.dueAt, ...probes)];
    }
    const next = rows.get(toCallId(key, value.finished));
    const { state = "WAITING", dueAt }: RowText = next ? JSON.parse(next.json) : {};
    return openStates.has(state) || dueAt !== undefined ? [] : [0];
  });
  return Math.min(Infinity, ...times, ...ofRequests);
}

interface RowText {
  state?: string;
  dueAt?: number;
  deliverTo?: string;
  deliverAt?: number;
}
