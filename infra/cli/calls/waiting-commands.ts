import type {
  Backlogs,
  BacklogView,
  Counts,
  Pauses,
  PauseView,
  Resumed,
  Why,
} from "#shared/answers/answers.ts";
import { callStates } from "#shared/calls/states.ts";
import { sayHolder } from "#shared/rules/texts.ts";
import { exitUnlessAgreed } from "./agree.ts";
import type { Client } from "./client.ts";
import type { Command } from "./command.ts";
import type { Json } from "./json.ts";
import { chosen, numberOf } from "./options.ts";
import { note, say, show } from "./terminal.ts";

type BreakerView = Pauses["breakers"][number];

/** Maximum backlogs of one answer. */
const pageBacklogsMax = 200;
/** Maximum backlogs whose calls are counted before a grave act. */
const backlogsCountedMax = 2_000;
const pauseColumns = ["what", "why", "cause", "state", "failures", "since", "probe_at"];
const backlogColumns = [
  "agent_id",
  "client",
  "account",
  "waiting",
  "due_at",
  "accepted_at",
  "why",
  "urgent",
];

/** Commands for backlogs, pauses and circuit breakers. */
export const waitingCommands: Record<string, Command> = {
  async pause(_rest, values, { ask, terminal }) {
    const { agent: agent_id, account, client, reason, until } = values;
    const what = chosen({ agent_id, account, client }, "--agent, --account or --client");
    if (agent_id === undefined) {
      const { waiting, text } = await countWaiting(
        (backlog) => isOfAccount(backlog, account) || backlog.client === client,
        ask,
      );
      const name = account === undefined ? `client ${client}` : `account ${account}`;
      const does = `keeps all calls of ${name} from being dialed, ${text} that wait now`;
      const exit = await exitUnlessAgreed(
        { does, answer: { ...what, waiting } },
        { values, terminal },
      );
      if (exit !== undefined) return exit;
    }
    const more = { ...(reason && { reason }), ...(until && { until }) };
    const answer = await ask<PauseView>("/pause", { ...what, ...more });
    const end = until === undefined ? "" : `, until ${until}`;
    say(`Paused: ${nameOf(answer)}${end}.`, answer, { values, terminal });
    return 0;
  },

  async resume(_rest, values, { ask, terminal }) {
    const { agent: agent_id, account, client, breaker } = values;
    const names = "--agent, --account, --client or --breaker";
    // The tables name it `breaker account:vapi`.
    const key = breaker?.replace(/^breaker /, "");
    const what = chosen({ agent_id, account, client, breaker: key }, names);
    // A misspelt name would look like one that was resumed.
    const { pauses } = key === undefined ? await ask<Pauses>("/pauses") : { pauses: [] };
    const answer = await ask<Resumed>("/resume", what);
    const name = nameOf(answer);
    const isKnown = key !== undefined || pauses.some((pause) => nameOf(pause) === name);
    say(`Resumed: ${name}${isKnown ? "" : ", which was not paused"}.`, answer, {
      values,
      terminal,
    });
    return 0;
  },

  async pauses(_rest, values, { ask, terminal }) {
    const { pauses, breakers } = await ask<Pauses>("/pauses");
    const paused = pauses.map((pause) => ({
      what: nameOf(pause),
      why: pausedText(pause),
      since: pause.at,
      probe_at: null,
    }));
    const open = breakers.map(({ key, code, opened_at, ...more }) => ({
      what: `breaker ${key}`,
      why: `answers ${code}`,
      since: opened_at,
      ...more,
    }));
    const rows = values.json === true ? open : open.map(breakerRow);
    show([...paused, ...rows], pauseColumns, { values, terminal });
    return 0;
  },

  async backlogs(_rest, values, { ask, terminal }) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const { backlogs, first } = await backlogsOf(limit, ask);
    const rows = values.json === true ? backlogs : backlogs.map(backlogRow);
    show(rows, backlogColumns, { values, terminal });
    if (values.json !== true && values.csv !== true) {
      note(`Oldest due: ${first.oldest_due_at ?? "none"}.`, terminal);
      note(sweepLine(first), terminal);
    }
    return 0;
  },

  async stats(_rest, values, { ask, terminal }) {
    const hours = numberOf(values.hours ?? "24", "--hours");
    const [answer, why] = await Promise.all([
      ask<Counts>(`/counts?hours=${hours}`),
      ask<Why>("/why"),
    ]);
    const { counts } = answer;
    if (values.json === true) {
      const current = { WAITING: why.calls, ...answer.current };
      terminal.print(JSON.stringify({ ...answer, current }));
      return 0;
    }
    const byHour = new Map<string, Json>();
    for (const { hour, state, count } of counts) {
      const row = byHour.get(hour) ?? { hour };
      byHour.set(hour, { ...row, [state]: count });
    }
    const used = callStates.filter((state) => counts.some((one) => one.state === state));
    show([...byHour.values()], ["hour", ...used], { values, terminal });
    const waiting = { state: "WAITING", now: `${why.calls}${why.is_whole ? "" : "+"}` };
    const others = Object.entries(answer.current).map(([state, count]) => ({
      state,
      now: upTo(count, answer.current_max),
    }));
    const current = [waiting, ...others];
    show(current, ["state", "now"], { values, terminal });
    note(sweepLine(answer), terminal);
    if (answer.ledger_size !== null) note(sizeLine(answer.ledger_size), terminal);
    if (answer.suspended_since !== null) {
      const restored = `The ledger was restored: NOTHING IS DIALED since ${answer.suspended_since}. See: npm run calls -- restored`;
      note(restored, terminal);
    }
    return 0;
  },
};

/** True if a pause of the account stops the backlog. An account's name may be that of its provider and a host. */
function isOfAccount({ account: own }: BacklogView, account: string | undefined): boolean {
  if (account === undefined || own === null) return false;
  return own === account || own.startsWith(`${account}:`);
}

/** Names the target of a pause or resume: `agent agent_sales`. */
function nameOf({ agent_id, account, client, breaker }: Resumed): string {
  if (agent_id !== undefined) return `agent ${agent_id}`;
  if (client !== undefined) return `client ${client}`;
  return account === undefined ? `breaker ${breaker}` : `account ${account}`;
}

/** Says who paused something, why and until when: `paused by ada: repair, until 2026-12-01T08:00:00.000Z`. */
function pausedText({ by, reason, until }: PauseView): string {
  const why = reason === null ? "" : `: ${reason}`;
  return `paused by ${by}${why}${until === null ? "" : `, until ${until}`}`;
}

/** Counts the calls that wait in some backlogs; `text` says if there are more than the service counts. */
export async function countWaiting(
  isMeant: (backlog: BacklogView) => boolean,
  ask: Client,
): Promise<{ waiting: number; text: string }> {
  const { backlogs } = await backlogsOf(backlogsCountedMax, ask);
  const meant = backlogs.filter(isMeant);
  const waiting = meant.reduce((sum, one) => sum + one.waiting, 0);
  const isWhole =
    backlogs.length < backlogsCountedMax && meant.every((one) => one.waiting_is_whole);
  return {
    waiting,
    text: `${waiting}${isWhole ? "" : " or more"} call${waiting === 1 ? "" : "s"}`,
  };
}

/** Formats the fields of an open breaker for a row of the table. */
function breakerRow<Row extends Pick<BreakerView, "failures">>(row: Row) {
  return { ...row, failures: failuresText(row.failures) };
}

/** Describes the failures of a breaker: `7 unanswered, 5 in a row`, or a backlog's refusals: `20 http_404 of US`. */
function failuresText(failures: BreakerView["failures"]): string {
  if (failures === null) return "";
  if ("unreachable" in failures) {
    return `${failures.unreachable} unanswered, ${failures.in_row} in a row`;
  }
  const refusals = Object.entries(failures.refusals)
    .map(([code, count]) => `${count} ${code}`)
    .join(", ");
  const countries = Object.keys(failures.countries).join(" ");
  return countries === "" ? refusals : `${refusals} of ${countries}`;
}

/** Reads the first backlogs, page after page, and the first answer, whose other fields apply to all pages. */
async function backlogsOf(
  limit: number,
  ask: Client,
): Promise<{ backlogs: BacklogView[]; first: Backlogs }> {
  const read = (cursor: string | undefined, size: number) =>
    ask<Backlogs>(
      `/backlogs?limit=${Math.min(size, pageBacklogsMax)}${cursor === undefined ? "" : `&cursor=${cursor}`}`,
    );
  const first = await read(undefined, limit);
  const backlogs = [...first.backlogs];
  let { cursor } = first;
  while (cursor !== undefined && backlogs.length < limit) {
    const next = await read(cursor, limit - backlogs.length);
    backlogs.push(...next.backlogs);
    cursor = next.cursor;
  }
  return { backlogs, first };
}

/** Formats a backlog as a row of the table. */
function backlogRow({ head, holders, waiting_is_whole: isWhole, ...backlog }: BacklogView): Json {
  const { due_at, accepted_at } = head;
  const waiting = isWhole ? backlog.waiting : `${backlog.waiting}+`;
  return { ...backlog, due_at, accepted_at, waiting, why: holdersText(holders) };
}

/** Says what holds calls, each reason with its calls where there are several. */
function holdersText(holders: BacklogView["holders"]): string {
  if (holders === null) return "not known";
  return holders
    .map(({ reason, name, calls }) => {
      const texts = sayHolder(reason, name);
      return holders.length === 1 ? texts : `${calls}: ${texts}`;
    })
    .join(" ");
}

/** Formats a count that the service stops at `most`. */
function upTo(count: number, most: number): number | string {
  return count === most ? `${count} or more` : count;
}

function sweepLine({ last_sweep_at }: { last_sweep_at: string | null }): string {
  return `Last full sweep: ${last_sweep_at ?? "none yet"}.`;
}

function sizeLine({ bytes, bytes_max, full_at }: NonNullable<Counts["ledger_size"]>): string {
  const percent = Math.floor((bytes / bytes_max) * 100);
  const gigabytes = (count: number) => (count / 1e9).toFixed(count < 1e9 ? 3 : 1);
  const end =
    full_at === null ? "no end in sight" : `full on ${full_at.slice(0, 10)} at today's growth`;
  return `Ledger: ${gigabytes(bytes)} of ${gigabytes(bytes_max)} GB (${percent} %); ${end}.`;
}
