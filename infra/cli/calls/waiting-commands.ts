import { callStates } from "../../../shared/calls/call-row.ts";
import type { Client } from "./client.ts";
import type { Command } from "./command.ts";
import { type Json, listIn, objectIn, textOf } from "./json.ts";
import { chosen, numberOf } from "./options.ts";
import { say, show } from "./terminal.ts";

/** Maximum backlogs of one answer. */
const pageBacklogsMax = 200;
const pauseColumns = ["what", "why", "failures", "agents", "since", "probe_at"];
const backlogColumns = [
  "agent_id",
  "client",
  "account",
  "waiting",
  "due_at",
  "accepted_at",
  "called_up_to",
  "held_by",
];

/** Commands for backlogs, pauses and circuit breakers. */
export const waitingCommands: Record<string, Command> = {
  async pause(_rest, values, ask, terminal) {
    const { agent: agent_id, account } = values;
    const answer = await ask("/pause", chosen({ agent_id, account }, "--agent or --account"));
    say(`Paused: ${nameOf(answer)}.`, answer, values, terminal);
    return 0;
  },

  async resume(_rest, values, ask, terminal) {
    const { agent: agent_id, account, breaker } = values;
    const what = chosen({ agent_id, account, breaker }, "--agent, --account or --breaker");
    const answer = await ask("/resume", what);
    say(`Resumed: ${nameOf(answer)}.`, answer, values, terminal);
    return 0;
  },

  async pauses(_rest, values, ask, terminal) {
    const answer = await ask("/pauses");
    const all = [
      ...listIn(answer, "pauses").map((pause) => ({
        what: nameOf(pause),
        why: `paused by ${textOf(pause["by"])}`,
        since: pause["at"],
        probe_at: null,
      })),
      ...listIn(answer, "breakers").map(({ key, code, opened_at, probe_at, ...more }) => ({
        what: `breaker ${textOf(key)}`,
        why: `answers ${textOf(code)}`,
        since: opened_at,
        probe_at,
        ...more,
      })),
    ];
    const rows = values.json === true ? all : all.map(pauseRow);
    show(rows, pauseColumns, values, terminal);
    return 0;
  },

  async backlogs(_rest, values, ask, terminal) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const { backlogs, first } = await backlogsOf(limit, ask);
    const rows = values.json === true ? backlogs : backlogs.map((one) => backlogRow(one, first));
    show(rows, backlogColumns, values, terminal);
    if (values.json !== true) {
      terminal.print(`Oldest due: ${textOf(first["oldest_due_at"]) || "none"}.`);
      terminal.print(sweepLine(first));
    }
    return 0;
  },

  async stats(_rest, values, ask, terminal) {
    const hours = numberOf(values.hours ?? "24", "--hours");
    const answer = await ask(`/counts?hours=${hours}`);
    const counts = listIn(answer, "counts");
    if (values.json === true) {
      terminal.print(JSON.stringify(answer));
      return 0;
    }
    const byHour = new Map<string, Json>();
    for (const { hour, state, count } of counts) {
      const row = byHour.get(textOf(hour)) ?? { hour };
      byHour.set(textOf(hour), { ...row, [textOf(state)]: count });
    }
    const used = callStates.filter((state) => counts.some((one) => one["state"] === state));
    show([...byHour.values()], ["hour", ...used], values, terminal);
    const standing = Object.entries(objectIn(answer, "standing")).map(([state, count]) => ({
      state,
      now: upTo(count, answer["standing_most"]),
    }));
    show(standing, ["state", "now"], values, terminal);
    terminal.print(sweepLine(answer));
    return 0;
  },
};

/** Names the target of a pause or resume: `agent agent_sales`. */
function nameOf({ agent_id, account, breaker }: Json): string {
  if (agent_id !== undefined) return `agent ${textOf(agent_id)}`;
  return account === undefined ? `breaker ${textOf(breaker)}` : `account ${textOf(account)}`;
}

/** Formats a pause or an open breaker as a row of the table. */
function pauseRow(one: Json): Json {
  const agents = Array.isArray(one["agents"]) ? one["agents"].map(textOf).join(", ") : "";
  return { ...one, agents, failures: failuresText(objectIn(one, "failures")) };
}

/** Describes the failures of a breaker: `7 unanswered, 5 in a row`, or an agent's refusals: `20 http_404`. */
function failuresText({ unanswered, in_row, refusals }: Json): string {
  if (unanswered !== undefined)
    return `${textOf(unanswered)} unanswered, ${textOf(in_row)} in a row`;
  return Object.entries(objectIn({ refusals }, "refusals"))
    .map(([code, count]) => `${textOf(count)} ${code}`)
    .join(", ");
}

/** Reads the first backlogs, page after page, and the first answer, whose other fields apply to all pages. */
async function backlogsOf(limit: number, ask: Client): Promise<{ backlogs: Json[]; first: Json }> {
  const backlogs: Json[] = [];
  let first: Json | undefined;
  let cursor = "";
  do {
    const place = cursor === "" ? "" : `&cursor=${cursor}`;
    const size = Math.min(limit - backlogs.length, pageBacklogsMax);
    const answer = await ask(`/backlogs?limit=${size}${place}`);
    first ??= answer;
    backlogs.push(...listIn(answer, "backlogs"));
    cursor = textOf(answer["cursor"]);
  } while (cursor !== "" && backlogs.length < limit);
  return { backlogs, first };
}

/** Formats a backlog as a row of the table. */
function backlogRow(backlog: Json, { waiting_most }: Json): Json {
  const { due_at, accepted_at } = objectIn(backlog, "head");
  const held = Array.isArray(backlog["held_by"]) ? backlog["held_by"].map(textOf) : [];
  const waiting = upTo(backlog["waiting"], waiting_most);
  return { ...backlog, due_at, accepted_at, waiting, held_by: held.join(", ") };
}

/** Formats a count that the service stops at `most`. */
function upTo(count: unknown, most: unknown): unknown {
  return count === most ? `${textOf(count)} or more` : count;
}

function sweepLine(answer: Json): string {
  return `Last full sweep: ${textOf(answer["swept_at"]) || "none yet"}.`;
}
