import type { Events, Exhausted, Replayed } from "#shared/answers/answers.ts";
import type { Client } from "../calls/client.ts";
import { Misuse } from "../calls/failures.ts";
import { numberOf } from "../calls/options.ts";
import { say, show, type Terminal } from "../calls/terminal.ts";

/** Options of `list` and `replay`. */
interface Values {
  receiver?: string;
  limit?: string;
  client?: string;
  from?: string;
  until?: string;
  types?: string;
  exhausted?: boolean;
  json?: boolean;
}
type EventsCommand = (values: Values, ask: Client, terminal: Terminal) => Promise<number>;

/** Maximum calls and requests of one answer. */
const pageMax = 200;
const receiverColumns = [
  "name",
  "origin",
  "types",
  "breaker",
  "probe_at",
  "oldest_due_at",
  "exhausted_calls",
];
const exhaustedColumns = ["id", "client", "events"];

/** Lists the receivers; with `--receiver` the exhausted events of one. */
export const listEvents: EventsCommand = async (values, ask, terminal) => {
  const { receiver, json } = values;
  if (receiver !== undefined) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const found = await readExhausted(receiver, limit, ask);
    show(json === true ? found : found.map(exhaustedRow), exhaustedColumns, { values, terminal });
    return 0;
  }
  if (values.limit !== undefined) throw new Misuse("--limit needs --receiver beside it.");
  const { receivers, exhausted_max, former_secrets: former } = await ask<Events>("/events");
  const rows = receivers.map(({ breaker, types, exhausted_calls, ...rest }) => ({
    ...rest,
    types: types.join(", "),
    breaker: breaker === null ? "closed" : `open since ${breaker.opened_at}: ${breaker.code}`,
    probe_at: breaker?.probe_at,
    exhausted_calls:
      exhausted_calls === exhausted_max ? `${exhausted_calls} or more` : String(exhausted_calls),
  }));
  show(json === true ? receivers : rows, receiverColumns, { values, terminal });
  if (former !== undefined) terminal.complain(formerKeyLine(former));
  return 0;
};

/** Says whether the former EVENTS_KEY can be retired. */
function formerKeyLine(former: NonNullable<Events["former_secrets"]>): string {
  if (former.length === 0) {
    return "No receiver needs the former EVENTS_KEY: npm run secrets -- retire EVENTS_KEY";
  }
  const names = former.map(({ client, name }) => `${name} of client ${client}`).join(", ");
  return (
    `These receivers of clients need the former EVENTS_KEY: ${names}. Their clients rotate the secrets, and a day later the ` +
    "key can be retired."
  );
}

/** Replays the events that the options choose, answer after answer. */
export const replayEvents: EventsCommand = async (values, ask, terminal) => {
  const { client, from, until, types } = values;
  if (!client || !from || !until) {
    throw new Misuse("replay needs --client, --from and --until.");
  }
  const filter = {
    client,
    from,
    until,
    ...(types === undefined ? {} : { types: types.split(",") }),
    ...(values.exhausted === true ? { exhausted: true } : {}),
  };
  let replayed = 0;
  let cursor: string | undefined;
  do {
    const place = cursor === undefined ? {} : { cursor };
    const answer = await ask<Replayed>("/events/replay", { ...filter, ...place });
    replayed += answer.replayed;
    cursor = answer.cursor;
  } while (cursor !== undefined);
  say(
    `${replayed} events will be delivered again, at the receiver's pace.`,
    { replayed },
    { values, terminal },
  );
  return 0;
};

/** Reads the first calls and requests with events that are exhausted, page after page. */
async function readExhausted(receiver: string, limit: number, ask: Client): Promise<Exhausted[]> {
  const found: Exhausted[] = [];
  let cursor: string | undefined;
  do {
    const size = Math.min(limit - found.length, pageMax);
    const place: Record<string, string> = cursor === undefined ? {} : { cursor };
    const query = new URLSearchParams({ receiver, limit: String(size), ...place });
    const page = await ask<Events>(`/events?${query.toString()}`);
    found.push(...(page.exhausted ?? []));
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < limit);
  return found;
}

/** Formats exhausted events of a call or a request as a row of the table. */
function exhaustedRow({ events, ...rest }: Exhausted) {
  const text = events.map(({ type, at, tries }) => `${type} of ${at}, ${tries} tries`);
  return { ...rest, events: text.join("; ") };
}
