/**
 * Permitted fields of a log line: ids, codes and counts. The type is closed: no field can hold a number, a name, a
 * context or a token.
 */
export interface LogFields {
  call_id?: string;
  request_id?: string;
  client?: string;
  token_id?: string;
  /** An agent of the plan, or `*`. */
  agent_id?: string;
  account?: string;
  /** The state written to the ledger. */
  state?: string;
  reason?: string;
  /** The provider's or the platform's code. */
  code?: string;
  /** Status of a placed call's result. */
  result?: string;
  attempt?: number;
  ms?: number;
  count?: number;
  status?: number;
  /** Figures of a sweep: calls that need review, calls that are due, and how long the oldest has been due. */
  needs_review?: number;
  due_calls?: number;
  oldest_due_seconds?: number;
  /** Seconds for which the oldest expired row or document may have waited to be deleted. */
  oldest_expired_seconds?: number;
  /** Share of a limit that is used. */
  percent?: number;
  /** Time at which a store is full at its present growth, ISO 8601. */
  full_at?: string;
  /** Circuit breakers that are open or half-open. */
  open_breakers?: number;
  /** True for a repeated request under an Idempotency-Key. */
  replayed?: boolean;
  /** Due time of a row, ISO 8601. */
  due_at?: string;
  /** Name of the circuit breaker of an account, a route, an agent or a receiver of events. */
  breaker?: string;
  /** Countries (ISO 3166-1) of the numbers whose calls were refused, separated by spaces. */
  countries?: string;
  /** IANA name of the time zone that the event concerns. */
  time_zone?: string;
  message_kind?: string;
  /** Id of an event whose delivery succeeded or failed. */
  event_id?: string;
  /** Name of a receiver of events: a client, or `*`; `own:` and the client for one of its own. */
  receiver?: string;
  /** Description of a wrong setting or callback in our own words; never its value. */
  problem?: string;
  /** An error's class and place, not its message, which may quote what it was given. */
  error?: string;
}

/** `alarm` marks events that a person must act on. */
export type LogLevel = "info" | "warning" | "alarm";

/** Writes one wide event, such as `call.dialed`. */
export type Log = (level: LogLevel, event: string, fields: LogFields) => void;

/**
 * Writes one line of JSON per event to the console. Alarms are errors, which Cloudflare groups into issues and sends
 * notifications of.
 */
export const workerLog: Log = (level, event, fields) => {
  const line = JSON.stringify({ time: new Date().toISOString(), level, event, ...fields });
  if (level === "alarm") console.error(line);
  else console.log(line);
};

/** Returns the loggable part of an error: its class and where it was thrown. Functions of a bundle have short names, so it has the place too. */
export function errorForLog(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const stack = error.stack?.replace(error.message, "") ?? "";
  const [, frame = ""] = /^ *at (?:async )?(.+)$/m.exec(stack) ?? [];
  const thrownIn = /^([\w.$<>]+) /.exec(frame)?.[1];
  const place = /([\w.-]+:\d+:\d+)\)?$/.exec(frame)?.[1];
  const where = [thrownIn, place && `(${place})`].filter((one) => one !== undefined);
  return where.length === 0 ? error.name : `${error.name} in ${where.join(" ")}`;
}
