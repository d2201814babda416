import { findAnswerMeaning } from "#shared/calls/answer-codes.ts";
import { findMeaning } from "#shared/rules/texts.ts";
import type {
  CallDetail,
  CallView,
  Cancelled,
  Redialed,
  RequestView,
  Revealed,
} from "#shared/answers/answers.ts";
import { counted, exitUnlessAgreed } from "./agree.ts";
import { forEach, listCalls, pageCallsMax } from "./chosen-calls.ts";
import type { Client } from "./client.ts";
import type { Command } from "./command.ts";
import { Misuse, Refusal } from "./failures.ts";
import type { Json } from "./json.ts";
import { chosen, numberOf } from "./options.ts";
import { countWaiting } from "./waiting-commands.ts";
import { say, show, showFacts } from "./terminal.ts";

const callColumns = [
  "id",
  "state",
  "reason",
  "result",
  "agent_id",
  "due_at",
  "updated_at",
  "account",
  "number_tail",
  "attempt",
];
const detailColumns = ["at", "state", "reason", "due_at", "by"];

/** Commands about single calls. */
export const callCommands: Record<string, Command> = {
  async list(_rest, values, { ask, terminal }) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const calls: CallView[] = [];
    for await (const call of listCalls(values, { ask, terminal }, Math.min(limit, pageCallsMax))) {
      calls.push(call);
      if (calls.length >= limit) break;
    }
    // A column has the status of the result; --json has all of it.
    const rows = values.json === true ? calls : calls.map(withStatus);
    show(rows, callColumns, { values, terminal });
    return 0;
  },

  async show([id], values, { ask, terminal }) {
    if (id === undefined) throw new Misuse("show needs a call's id.");
    const { history, ...call } = await ask<CallDetail>(`/calls/${encodeURIComponent(id)}`);
    const revealed =
      values.reveal === true
        ? await ask<Revealed>(`/calls/${encodeURIComponent(id)}/reveal`, {})
        : {};
    const meaning = findMeaning(call.reason) ?? findAnswerMeaning(call.reason) ?? null;
    const whole = { ...call, ...revealed, meaning };
    if (values.json === true) {
      terminal.print(JSON.stringify({ ...whole, history }));
      return 0;
    }
    showFacts(whole, terminal);
    const hasChecks = history.some(({ checks }) => checks !== undefined);
    const columns = hasChecks ? [...detailColumns, "checks"] : detailColumns;
    show(history, columns, { values, terminal });
    return 0;
  },

  redial: (ids, values, { ask, terminal }) => {
    const body = { not_placed: values["not-placed"] === true };
    return forEach(
      ids,
      {
        values,
        perform: (id, seen) => ask<Redialed>(`/calls/${id}/redial`, { ...body, ...seen }),
        does: (count) => `calls the numbers of ${counted(count, "call")} again`,
      },
      { ask, terminal },
    );
  },

  resolve(ids, values, { ask, terminal }) {
    const { placed = false, "not-placed": not = false } = values;
    if (placed === not) throw new Misuse("resolve needs either --placed or --not-placed.");
    const body = { outcome: placed ? "placed" : "not_placed" };
    const as = placed ? "placed, and erases their numbers" : "not placed";
    const does = (count: number) => `marks ${counted(count, "call")} as ${as}, for good`;
    return forEach(
      ids,
      {
        values,
        perform: (id, seen) => ask<CallView>(`/calls/${id}/resolve`, { ...body, ...seen }),
        // Whoever names calls by their ids has looked at each.
        ...(ids.length === 0 ? { does } : {}),
      },
      { ask, terminal },
    );
  },

  async cancel(ids, values, { ask, terminal }) {
    const { request, agent } = values;
    if (ids.length > 0) {
      if (request !== undefined || agent !== undefined) {
        throw new Misuse("cancel takes either ids, or --request or --agent.");
      }
      return forEach(
        ids,
        {
          values,
          perform: (id) => ask<CallView>(`/calls/${id}/cancel`, {}),
          does: (count) => `cancels ${counted(count, "call")}, for good`,
        },
        { ask, terminal },
      );
    }
    const what = chosen({ request_id: request, agent_id: agent }, "--request or --agent");
    const exit = await exitUnlessAgreed(await cancelAct({ request, agent }, ask), {
      values,
      terminal,
    });
    if (exit !== undefined) return exit;
    let cancelled = 0;
    let ordered: number | null = null;
    let cursor: string | undefined;
    do {
      const place = cursor === undefined ? {} : { cursor };
      const answer = await ask<Cancelled>("/cancel", { ...what, ...place });
      cancelled += answer.cancelled;
      ordered = answer.ordered ?? ordered;
      cursor = answer.cursor;
    } while (cursor !== undefined);
    say(
      `${counted(cancelled, "waiting call")} cancelled; ${laterIn(cancelled, ordered)}`,
      { cancelled, ordered },
      { values, terminal },
    );
    return 0;
  },
};

/** Counts the calls of a request or an agent that `cancel` would cancel. */
async function cancelAct(
  { request, agent }: { request: string | undefined; agent: string | undefined },
  ask: Client,
) {
  if (request === undefined) {
    const { waiting, text } = await countWaiting(({ agent_id }) => agent_id === agent, ask);
    return {
      does: `cancels, for good, the ${text} of agent ${agent} that wait, and those on the queue`,
      answer: { agent_id: agent, waiting },
    };
  }
  const view = await ask<RequestView>(`/requests/${encodeURIComponent(request)}`).catch(
    (error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    },
  );
  if (view === undefined) {
    const does = `cancels permanently request ${request}, whose calls have not been read yet`;
    return { does, answer: { request_id: request, waiting: 0 } };
  }
  const { queued, total } = view;
  const waiting = view.by_state.WAITING ?? 0;
  const onQueue = queued === 0 ? "" : `, and ${queued} on the queue`;
  return {
    does: `cancels, for good, ${waiting} of ${counted(total, "call")} that wait${onQueue}, of request ${request}`,
    answer: { request_id: request, waiting, queued, total },
  };
}

/** Reports the calls that an order cancels later: those still on the queue, or being written. */
function laterIn(cancelled: number, ordered: number | null): string {
  if (ordered === null) return "calls still on the queue will be, too.";
  const later = Math.max(0, ordered - cancelled);
  return later === 0
    ? "none is left on the queue."
    : `${later} more will be, once the dialer has read them.`;
}

function withStatus(call: CallView): Json {
  return { ...call, result: call.result?.status ?? null };
}
