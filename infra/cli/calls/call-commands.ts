import Table from "cli-table3";
import { findAnswerMeaning } from "../../../shared/calls/answer-codes.ts";
import { findMeaning } from "../../../shared/calls/reasons.ts";
import type { CallDetail, CallView } from "../../../functions/api/operator/call-view.ts";
import type { Revealed } from "../../../functions/api/operator/calls.ts";
import type { Cancelled } from "../../../functions/api/actions/cancel-calls.ts";
import type { Redialed } from "../../../functions/api/operator/redial.ts";
import { forEach, listCalls, pageCallsMax } from "./chosen-calls.ts";
import type { Command } from "./command.ts";
import { Failure } from "./failures.ts";
import { type Json, textOf } from "./json.ts";
import { chosen, numberOf } from "./options.ts";
import { say, show } from "./terminal.ts";

const callColumns = [
  "id",
  "state",
  "reason",
  "result",
  "agent_id",
  "provider",
  "number_tail",
  "attempt",
  "due_at",
  "updated_at",
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
    if (id === undefined) throw new Failure("show needs a call's id.");
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
    const table = new Table();
    for (const [name, value] of Object.entries(whole)) {
      if (value !== null) table.push({ [name]: textOf(value) });
    }
    terminal.print(table.toString());
    const hasChecks = history.some(({ checks }) => checks !== undefined);
    const columns = hasChecks ? [...detailColumns, "checks"] : detailColumns;
    show(history, columns, { values, terminal });
    return 0;
  },

  redial: (ids, values, { ask, terminal }) => {
    const body = { not_placed: values["not-placed"] === true };
    return forEach(
      ids,
      { values, perform: (id) => ask<Redialed>(`/calls/${id}/redial`, body) },
      { ask, terminal },
    );
  },

  resolve(ids, values, { ask, terminal }) {
    const { placed = false, "not-placed": not = false } = values;
    if (placed === not) throw new Failure("resolve needs either --placed or --not-placed.");
    const body = { outcome: placed ? "placed" : "not_placed" };
    return forEach(
      ids,
      { values, perform: (id) => ask<CallView>(`/calls/${id}/resolve`, body) },
      { ask, terminal },
    );
  },

  async cancel(ids, values, { ask, terminal }) {
    if (ids.length > 0) {
      if (Object.keys(values).some((name) => name !== "json")) {
        throw new Failure("cancel takes either ids, or --request or --agent.");
      }
      return forEach(
        ids,
        { values, perform: (id) => ask<CallView>(`/calls/${id}/cancel`, {}) },
        { ask, terminal },
      );
    }
    const what = chosen(
      { request_id: values.request, agent_id: values.agent },
      "--request or --agent",
    );
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
      `${cancelled} waiting calls cancelled; ${laterIn(cancelled, ordered)}`,
      { cancelled, ordered },
      { values, terminal },
    );
    return 0;
  },
};

/** Tells what an order ends later: what is still on the queue, or was being written. */
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
