import { zValidator } from "@hono/zod-validator";
import { type Context, Hono } from "hono";
import type * as z from "zod";
import type { Call } from "../../shared/call.ts";
import { type CallRow, callStates, type OperatorAct } from "../../shared/ledger/call-ledger.ts";
import { actFrom } from "../../shared/ledger/state-machine.ts";
import { cancelOrderOf, holdOrderOf, listMarks } from "../../shared/orders.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import type { Caller } from "../../shared/tokens.ts";
import type { ApiDeps, ApiEnv } from "./app.ts";
import { authenticate } from "./authenticate.ts";
import { cursorOf, pageOf, scan, scanRowsMax, storyOf, timeOf, viewOf } from "./call-views.ts";
import documents from "./documents.json" with { type: "json" };
import {
  actsQuerySchema,
  cancelSchema,
  checkSchema,
  countsQuerySchema,
  doNotCallSchema,
  holdSchema,
  listQuerySchema,
  redialSchema,
  releaseSchema,
  resolveSchema,
  searchSchema,
} from "./operator-schemas.ts";
import { errorsOf, problem, unprocessable } from "./problem.ts";
import { readJson } from "./read-json.ts";

/** Room for the do-not-call list's ten thousand numbers. */
const bodyBytesMax = 512 * 1024;
/** Rows of a state are counted so far. */
const standingMost = 500;
const sendSecondsMax = 10;

/**
 * What operators see and decide, under `/operator`: JSON, with tokens of their own. Numbers and contexts are shown to
 * who asks for one call's, and that is recorded, as is every change.
 */
export function createOperator(
  deps: ApiDeps,
  operatorOf: (token: string, now: number) => Caller | undefined,
) {
  const operator = new Hono<ApiEnv>();
  const { clock } = deps;
  operator.use(authenticate((token) => operatorOf(token, clock.now())));
  operator.use(async (c, next) => {
    // Without its settings the service knows neither how long to keep what is written, nor whose a number's hash is.
    if ("problem" in deps.settings) return notConfigured(c);
    await next();
    c.header("cache-control", "no-store");
  });
  const settings = "value" in deps.settings ? deps.settings.value : undefined;
  const hashKey = settings?.hashKey ?? "";
  const record = async (
    c: Context<ApiEnv>,
    act: string,
    target: string,
    more: { count?: number } = {},
  ) => {
    const by = c.get("caller").tokenId;
    const ledger = await deps.ledger();
    await ledger.logAct({
      id: `act_${deps.randomId()}`,
      at: clock.now(),
      by,
      act,
      target,
      ...more,
    });
    const fields = { request_id: c.get("requestId"), token_id: by, reason: act };
    deps.log("info", "operator.acted", { ...fields, ...more });
  };
  const rowOf = async (id: string) => (await (await deps.ledger()).read([id])).get(id);
  const noCall = (c: Context) => problem(c, 404, "There is no call of this id.");
  const query = <Schema extends z.ZodType>(schema: Schema) =>
    zValidator("query", schema, (result, c) => {
      if (!result.success) return unprocessable(c, errorsOf(result.error.issues, notAsked));
    });
  const body = <Schema extends z.ZodType>(schema: Schema) =>
    zValidator("json", schema, (result, c) => {
      if (!result.success) return unprocessable(c, errorsOf(result.error.issues, notAsked));
    });
  const read = readJson(bodyBytesMax);

  operator.get("/calls", query(listQuerySchema), async (c) => {
    const filters = c.req.valid("query");
    const { state = "PARKED", request_id } = filters;
    const of = request_id === undefined ? { state } : { requestId: request_id };
    return c.json(await pageOf(await deps.ledger(), of, filters));
  });

  operator.post("/calls/search", read, body(searchSchema), async (c) => {
    const { phone_number, ...filters } = c.req.valid("json");
    const { numberHash } = traceOfNumber(phone_number, hashKey);
    return c.json(await pageOf(await deps.ledger(), { numberHash }, filters));
  });

  operator.get("/calls/:id", async (c) => {
    const row = await rowOf(c.req.param("id"));
    return row === undefined ? noCall(c) : c.json({ ...viewOf(row), history: storyOf(row) });
  });

  operator.post("/calls/:id/reveal", async (c) => {
    const row = await rowOf(c.req.param("id"));
    if (row === undefined) return noCall(c);
    if (row.call === null) return problem(c, 409, "The call is placed: whom it was to is erased.");
    await record(c, "reveal", row.id);
    const { phone_number, context = {}, timezone = null } = row.call.request;
    return c.json({ phone_number, context, timezone });
  });

  /** Does what an operator decided about one call; says what stands in the way where it cannot be. */
  const decide = async (c: Context<ApiEnv>, act: string, row: CallRow, to: OperatorAct["to"]) => {
    await record(c, act, row.id);
    const ledger = await deps.ledger();
    const by = c.get("caller").tokenId;
    const [done] = await ledger.act([{ id: row.id, to, from: row.state, by, at: clock.now() }]);
    if (done === true) return c.json(viewOf((await rowOf(row.id)) ?? row));
    return conflict(c, (await rowOf(row.id)) ?? row, actFrom[to]);
  };

  operator.post("/calls/:id/cancel", async (c) => {
    const row = await rowOf(c.req.param("id"));
    if (row === undefined) return noCall(c);
    if (row.state === "PARKED") return conflict(c, row, ["DEFERRED"]);
    return decide(c, "cancel", row, "CANCELLED");
  });

  operator.post("/calls/:id/resolve", read, body(resolveSchema), async (c) => {
    const row = await rowOf(c.req.param("id"));
    if (row === undefined) return noCall(c);
    const { outcome } = c.req.valid("json");
    const to = outcome === "placed" ? "PLACED" : "CANCELLED";
    if (row.state !== "PARKED" && row.state !== to) return conflict(c, row, ["PARKED"]);
    return decide(c, outcome === "placed" ? "mark_placed" : "close", row, to);
  });

  operator.post("/calls/:id/redial", read, body(redialSchema), async (c) => {
    const row = await rowOf(c.req.param("id"));
    if (row === undefined) return noCall(c);
    if (row.call === null) return conflict(c, row, actFrom.REDIALED);
    if (row.state === "PARKED" && c.req.valid("json").not_placed !== true) {
      const detail = "must be true: a parked call may have been placed, and would be made twice";
      return unprocessable(c, [{ pointer: "/not_placed", detail }]);
    }
    await record(c, "redial", row.id);
    const redial = await redialOf(c, row);
    if (redial === undefined) return conflict(c, (await rowOf(row.id)) ?? row, actFrom.REDIALED);
    const call: Call = { ...row.call, ...redial, redialOf: row.id };
    // Under an id that stands in the ledger: sent again by whoever asks again, it is dialed once.
    const send = () => withTimeLimit(deps.queue.send({ kind: "call", call }), sendSecondsMax);
    try {
      await send().catch(send);
    } catch {
      const detail = "The queue did not confirm the call. Redial it again: it will be made once.";
      return problem(c, 503, detail, { headers: { "retry-after": "5" } });
    }
    return c.json({ id: redial.id, redial_of: row.id }, 201);
  });

  /**
   * The call that is made in a row's stead: whoever was first to ask has given it its id and its time. Asked again
   * weeks later, it is too old to be dialed, though the ledger may have forgotten it.
   */
  const redialOf = async (
    c: Context<ApiEnv>,
    row: CallRow,
  ): Promise<Pick<Call, "id" | "acceptedAt"> | undefined> => {
    const made = ({ state, redialedAs, updatedAt }: CallRow) =>
      state === "REDIALED" && redialedAs !== null
        ? { id: redialedAs, acceptedAt: updatedAt }
        : undefined;
    if (row.state === "REDIALED") return made(row);
    const redialedAs = `call_${deps.randomId()}`;
    const at = clock.now();
    const by = c.get("caller").tokenId;
    const ledger = await deps.ledger();
    const from = row.state;
    const [done] = await ledger.act([{ id: row.id, to: "REDIALED", from, redialedAs, by, at }]);
    if (done === true) return { id: redialedAs, acceptedAt: at };
    const now = await rowOf(row.id);
    return now && made(now);
  };

  operator.post("/cancel", read, body(cancelSchema), async (c) => {
    const { request_id, agent_id, cursor } = c.req.valid("json");
    const ledger = await deps.ledger();
    const by = c.get("caller").tokenId;
    const now = clock.now();
    const what = request_id === undefined ? { agent: agent_id ?? "" } : { request: request_id };
    const name = cancelOrderOf(what);
    if (cursor === undefined) {
      // Calls that no dialer has seen yet have no row to be cancelled: the order is for them.
      const lifeMs = (settings?.plan.expireAfterHours ?? 0) * 3_600_000;
      await record(c, "cancel", name);
      await ledger.giveOrder({ name, at: now, by, expiresAt: Math.ceil(now + lifeMs) });
    } else {
      const [order] = await ledger.ordersNamed([name], now);
      if (order === undefined || cursor.time > order.at + 1) {
        const detail = "must be of an answer to this very order";
        return unprocessable(c, [{ pointer: "/cursor", detail }]);
      }
    }
    const of =
      request_id === undefined ? { state: "DEFERRED" as const } : { requestId: request_id };
    const fits = (row: CallRow) =>
      row.state === "DEFERRED" && (agent_id === undefined || row.agentId === agent_id);
    const start = cursor ?? { time: now + 1, id: "" };
    const found = await scan(ledger, of, { start, fits, limit: scanRowsMax });
    const cancelled = { to: "CANCELLED", from: "DEFERRED", by, at: now } as const;
    const acts = found.rows.map(({ id }) => ({ id, ...cancelled }));
    const done = acts.length === 0 ? [] : await ledger.act(acts);
    const count = done.filter(Boolean).length;
    if (cursor !== undefined) await record(c, "cancel", name, { count });
    return c.json({ cancelled: count, ...cursorOf(found.next) });
  });

  operator.get("/holds", async (c) => {
    const ledger = await deps.ledger();
    const [orders, holds] = await Promise.all([ledger.holdOrders(), ledger.holds()]);
    const agents = settings?.plan.agents ?? {};
    const accounts = new Set(Object.values(agents).map(({ provider }) => provider));
    return c.json({
      orders: orders.map(({ name, at, by }) => ({ name, at: timeOf(at), by })),
      holds: holds
        .filter(({ probeAt }) => probeAt !== null)
        .map(({ name, code, count, probeAt }) => ({
          name,
          code,
          count,
          probe_at: timeOf(probeAt),
        })),
      agents: Object.keys(agents).filter((name) => name !== "*"),
      /** Whether there are agents that the plan does not name. */
      other_agents: Object.hasOwn(agents, "*"),
      accounts: [...accounts].toSorted(),
    });
  });

  operator.post("/hold", read, body(holdSchema), async (c) => {
    const { agent_id, account } = c.req.valid("json");
    const agents = settings?.plan.agents ?? {};
    if (agent_id !== undefined && !Object.hasOwn(agents, agent_id) && !Object.hasOwn(agents, "*")) {
      return unprocessable(c, [{ pointer: "/agent_id", detail: "is no agent of the dial plan" }]);
    }
    const accounts = Object.values(agents).map(({ provider }) => provider);
    if (account !== undefined && !accounts.includes(account)) {
      const detail = "is no account that an agent of the dial plan goes through";
      return unprocessable(c, [{ pointer: "/account", detail }]);
    }
    const name = holdOrderOf(
      agent_id === undefined ? { account: account ?? "" } : { agent: agent_id },
    );
    await record(c, "hold", name);
    const by = c.get("caller").tokenId;
    await (await deps.ledger()).giveOrder({ name, at: clock.now(), by, expiresAt: null });
    return c.json({ name });
  });

  operator.post("/release", read, body(releaseSchema), async (c) => {
    const { agent_id, account, hold } = c.req.valid("json");
    const ordered = agent_id === undefined ? { account: account ?? "" } : { agent: agent_id };
    const name = hold ?? holdOrderOf(ordered);
    await record(c, "release", name);
    const ledger = await deps.ledger();
    await (hold === undefined ? ledger.dropOrder(name) : ledger.clearHold(name));
    return c.json({ name });
  });

  operator.get("/counts", query(countsQuerySchema), async (c) => {
    const { hours } = c.req.valid("query");
    const ledger = await deps.ledger();
    const hourMs = 3_600_000;
    const until = (Math.floor(clock.now() / hourMs) + 1) * hourMs;
    const open = callStates.filter((state) => openStates.has(state));
    const [counts, standing] = await Promise.all([
      ledger.counts(until - hours * hourMs, until),
      Promise.all(open.map((state) => ledger.standing(state, standingMost))),
    ]);
    return c.json({
      counts: counts.map(({ hour, ...one }) => ({ hour: timeOf(hour * hourMs), ...one })),
      standing: Object.fromEntries(open.map((state, n) => [state, standing[n]])),
      standing_most: standingMost,
    });
  });

  operator.post("/do-not-call", read, body(doNotCallSchema), async (c) => {
    const { add, remove, renew, more } = c.req.valid("json");
    const ledger = await deps.ledger();
    const { any, own } = listMarks(hashKey);
    const marks = await ledger.doNotCall([any, own]);
    const isOfOtherKey = marks.has(any) && !marks.has(own);
    if (isOfOtherKey && !renew && !more) {
      const detail = "The list was made under another HASH_KEY: send all of it again, with renew.";
      return problem(c, 409, detail);
    }
    const hashesOf = (numbers: string[]) =>
      numbers.map((number) => traceOfNumber(number, hashKey).numberHash);
    await record(c, "do_not_call", "list", { count: add.length + remove.length });
    const now = clock.now();
    if (!marks.has(any)) await ledger.addDoNotCall([any, own], now);
    if (remove.length > 0) await ledger.dropDoNotCall(hashesOf(remove));
    if (add.length > 0) await ledger.addDoNotCall(hashesOf(add), now);
    // Until all of it is there, a list that was made under another key lets nobody be dialed.
    if (isOfOtherKey && !more) await ledger.addDoNotCall([own], now);
    return c.json({ added: add.length, removed: remove.length });
  });

  operator.post("/do-not-call/check", read, body(checkSchema), async (c) => {
    const { numberHash } = traceOfNumber(c.req.valid("json").phone_number, hashKey);
    const found = await (await deps.ledger()).doNotCall([numberHash]);
    return c.json({ listed: found.has(numberHash) });
  });

  operator.get("/acts", query(actsQuerySchema), async (c) => {
    const { cursor, limit } = c.req.valid("query");
    const before = cursor && { at: cursor.time, id: cursor.id };
    const acts = await (await deps.ledger()).acts({ before, limit });
    const last = acts.at(-1);
    const next =
      acts.length < limit || last === undefined ? undefined : { time: last.at, id: last.id };
    return c.json({ acts: acts.map((one) => ({ ...one, at: timeOf(one.at) })), ...cursorOf(next) });
  });

  operator.get("/openapi.json", (c) => c.json(documents.operator));
  operator.notFound((c) => problem(c, 404, "There is nothing of this name for operators."));
  return operator;
}

const notAsked = "is not a field of this request";
/** States in which something may yet happen to a call, or has to. */
const openStates = new Set<CallRow["state"]>(["DEFERRED", "DIALING", "UNKNOWN", "PARKED"]);

function conflict(c: Context, { state }: CallRow, from: readonly CallRow["state"][]): Response {
  return problem(c, 409, `The call is ${state}; this is for calls that are ${from.join(" or ")}.`);
}

function notConfigured(c: Context): Response {
  return problem(c, 503, "The service is not configured; its log says what is missing.");
}
