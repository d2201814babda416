import {
  BatchGetItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  type CallLedger,
  type CallRow,
  callStates,
  type Claim,
  type DueRow,
  type HistoryEntry,
  type OperatorAct,
  type Settlement,
  type UnclaimedWrite,
} from "./call-ledger.ts";
import { createDynamoItems } from "./dynamodb-items.ts";
import { createDynamoLimits } from "./dynamodb-limits.ts";
import {
  duePlace,
  dueShardsOf,
  firstAttributes,
  fromItem,
  historyOf,
  type Item,
  justBefore,
  lineShard,
  number,
  numberIn,
  stateShard,
  stateShardsOf,
  text,
  textIn,
  timeKey,
  updateOf,
} from "./dynamodb-table.ts";
import { createDynamoCounts, createDynamoOperator } from "./dynamodb-operator.ts";
import {
  actEntryOf,
  actFrom,
  claimEntryOf,
  entryOf,
  isIdempotent,
  operatorReason,
  settleFrom,
} from "./state-machine.ts";

/** Most keys of one BatchGetItem. */
const readKeysMax = 100;
/** How much later than its retention a row goes by itself: the sweep says first what was never resolved. */
const ttlGraceMs = 7 * 86_400_000;

/**
 * The ledger in DynamoDB, by single-item conditional writes alone; its table is described in dynamodb-table.ts.
 *
 * @param retentionMs how long an ended call's row is kept, by the dial plan
 */
export function createDynamoLedger(
  client: DynamoDBClient,
  table: string,
  retentionMs: number,
): CallLedger {
  const access = createDynamoItems(client, table);
  const { get, conditional, query } = access;

  /** Updates a call's item under a condition, in which `#name` stands for each of `names`. */
  const updateCall = (
    id: string,
    update: ReturnType<typeof updateOf>,
    names: string[],
    ConditionExpression: string,
  ): Promise<boolean> =>
    conditional(() =>
      client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { pk: text(`call#${id}`) },
          ...update,
          ExpressionAttributeNames: {
            ...update.ExpressionAttributeNames,
            ...Object.fromEntries(names.map((name) => [`#${name}`, name])),
          },
          ConditionExpression,
        }),
      ),
    );

  /**
   * The SDK repeats a write whose answer was lost, and then is told that its own first try is in the way: a
   * refusal is read back before it is believed.
   */
  async function stands(id: string, state: CallRow["state"], token: string): Promise<boolean> {
    const item = await get(`call#${id}`);
    return item?.["state"]?.S === state && item["token"]?.S === token;
  }

  async function claimOne(claim: Claim): Promise<boolean> {
    const { call, token, route, attempt, at, deadline, resendOf } = claim;
    const resent = resendOf !== undefined;
    const set: Item = {
      state: text("DIALING"),
      reason: text(resent ? "resent" : "claimed"),
      token: text(token),
      attempt: number(attempt),
      claimedAt: number(at),
      updatedAt: number(at),
      ...duePlace(call.id, deadline),
      stateShard: text(stateShard(call.id, "DIALING")),
      ...(resent
        ? { resent: { BOOL: true } }
        : { route: text(JSON.stringify(route)), idempotent: { BOOL: isIdempotent(route) } }),
    };
    const first = resent ? {} : firstAttributes(claim);
    const values: Item = {
      ":before": number(attempt - 1),
      ...(resent
        ? { ":unknown": text("UNKNOWN"), ":read": text(resendOf), ":true": { BOOL: true } }
        : { ":deferred": text("DEFERRED"), ":at": number(at) }),
    };
    const update = updateOf({
      set,
      first,
      values,
      history: historyOf(claimEntryOf(claim), claim),
      remove: ["line"],
    });
    const done = await (resent
      ? updateCall(
          call.id,
          update,
          ["attempt", "state", "token", "idempotent"],
          "#state = :unknown AND #token = :read AND #idempotent = :true AND #attempt = :before",
        )
      : updateCall(
          call.id,
          update,
          ["attempt", "state", "dueAt"],
          `${attempt === 1 ? "attribute_not_exists(pk) OR " : ""}(#state = :deferred AND #dueAt <= :at AND #attempt = :before)`,
        ));
    return done || stands(call.id, "DIALING", token);
  }

  async function settleOne(settlement: Settlement): Promise<boolean> {
    const { id, token, state, reason, dueAt, providerCallId, at } = settlement;
    const from = settleFrom[state];
    const set: Item = {
      state: text(state),
      reason: text(reason),
      updatedAt: number(at),
      stateShard: text(stateShard(id, state)),
      ...(dueAt === undefined ? {} : duePlace(id, dueAt)),
      ...(providerCallId === undefined ? {} : { providerCallId: text(providerCallId) }),
      ...(state === "DEFERRED" ? {} : { ttl: ttlAt(at) }),
    };
    const values: Item = { ":token": text(token) };
    for (const [index, one] of from.entries()) values[`:from${index}`] = text(one);
    const notResent = state === "DEFERRED" || state === "REJECTED";
    if (notResent) values[":false"] = { BOOL: false };
    const first = state === "UNKNOWN" ? { unknownSince: number(at) } : {};
    const remove = [
      ...(dueAt === undefined ? ["dueAt", "dueShard", "dueKey"] : []),
      ...(state === "PLACED" ? ["call"] : []),
      ...(state === "DEFERRED" ? ["unknownSince"] : []),
    ];
    const history = historyOf(entryOf(settlement), settlement);
    const update = updateOf({ set, first, values, history, remove });
    const fromStates = from.map((_, index) => `:from${index}`).join();
    const done = await updateCall(
      id,
      update,
      ["state", "token", ...(notResent ? ["resent"] : [])],
      `#token = :token AND #state IN (${fromStates})${notResent ? " AND #resent = :false" : ""}`,
    );
    if (done) counts.add(state, at);
    return done || stands(id, state, token);
  }

  async function actOne(act: OperatorAct): Promise<boolean> {
    const { id, to, from, redialedAs, at } = act;
    /** By an earlier act of the same. */
    const isDone = async () => {
      const item = await get(`call#${id}`);
      return item?.["state"]?.S === to && item["redialedAs"]?.S === redialedAs;
    };
    const set: Item = {
      state: text(to),
      reason: text(operatorReason),
      updatedAt: number(at),
      stateShard: text(stateShard(id, to)),
      ttl: ttlAt(at),
      ...(redialedAs === undefined ? {} : { redialedAs: text(redialedAs) }),
    };
    if (!actFrom[to].includes(from)) return isDone();
    const remove = ["dueAt", "dueShard", "dueKey", "line", ...(to === "PLACED" ? ["call"] : [])];
    const values = { ":from": text(from) };
    const update = updateOf({ set, values, history: historyOf(actEntryOf(act), {}), remove });
    const done = await updateCall(id, update, ["state"], "#state = :from");
    if (done) counts.add(to, at);
    return done || isDone();
  }

  async function noteOne({ id, entry }: { id: string; entry: HistoryEntry }): Promise<void> {
    const update = updateOf({ set: {}, values: {}, history: historyOf(entry, {}) });
    await updateCall(id, update, [], "attribute_exists(pk)");
  }

  async function deferOne(write: UnclaimedWrite): Promise<boolean> {
    const { call, state, reason, dueAt, line, at, seenDueAt } = write;
    if (line !== undefined) await openLine(line);
    const history = historyOf(entryOf(write), write);
    const set: Item = {
      state: text(state),
      reason: text(reason),
      updatedAt: number(at),
      stateShard: text(stateShard(call.id, state)),
      ...(dueAt === undefined ? {} : duePlace(call.id, dueAt, line)),
      ...(state === "DEFERRED" ? {} : { ttl: ttlAt(at) }),
    };
    if (seenDueAt === null) {
      const Item = {
        pk: text(`call#${call.id}`),
        ...firstAttributes(write),
        attempt: number(0),
        history,
        ...set,
      };
      const ConditionExpression = "attribute_not_exists(pk)";
      const done = await conditional(() =>
        client.send(new PutItemCommand({ TableName: table, Item, ConditionExpression })),
      );
      if (done) counts.add(state, at);
      return done || isWritten(write);
    }
    const values = { ":deferred": text("DEFERRED"), ":seen": number(seenDueAt) };
    const remove = [
      ...(dueAt === undefined ? ["dueAt", "dueShard", "dueKey"] : []),
      ...(line === undefined ? ["line"] : []),
    ];
    const update = updateOf({ set, values, history, remove });
    const names = ["state", "dueAt"];
    const done = await updateCall(call.id, update, names, "#state = :deferred AND #dueAt = :seen");
    if (done && state !== "DEFERRED") counts.add(state, at);
    return done || isWritten(write);
  }

  /** Lines that are written down, as far as this process knows. */
  const openLines = new Set<string>();

  /** Written down before the first row stands in it, so that no row stands in a line that nobody looks at. */
  async function openLine(line: string): Promise<void> {
    if (openLines.has(line)) return;
    const Item = {
      pk: text(`line#${line}`),
      name: text(line),
      stateShard: text(lineShard),
      stateKey: text(line),
    };
    await client.send(new PutItemCommand({ TableName: table, Item }));
    openLines.add(line);
  }

  /**
   * Whether a deferral that was refused stands all the same, by the try whose answer was lost. Another's that says
   * the same of the same millisecond is taken for it: it does stand.
   */
  async function isWritten({ call, state, reason, dueAt, line, at, seenDueAt }: UnclaimedWrite) {
    const item = await get(`call#${call.id}`);
    if (item === undefined) return false;
    const row = fromItem(item);
    // A first write that stands has never been claimed; the same decision over another row is not this one.
    if (seenDueAt === null && row.attempt > 0) return false;
    const same =
      row.state === state &&
      row.reason === reason &&
      row.dueAt === (dueAt ?? null) &&
      row.line === (line ?? null);
    return same && row.updatedAt === at && row.dueAt !== seenDueAt;
  }

  async function read(ids: string[]): Promise<Map<string, CallRow>> {
    const rows = new Map<string, CallRow>();
    let keys = ids.map((id) => ({ pk: text(`call#${id}`) }));
    while (keys.length > 0) {
      const page = keys.slice(0, readKeysMax);
      const { Responses, UnprocessedKeys } = await client.send(
        new BatchGetItemCommand({
          RequestItems: { [table]: { Keys: page, ConsistentRead: true } },
        }),
      );
      for (const item of Responses?.[table] ?? []) {
        const row = fromItem(item);
        rows.set(row.id, row);
      }
      const left = UnprocessedKeys?.[table]?.Keys ?? [];
      keys = [...keys.slice(readKeysMax), ...left.map((key) => ({ pk: text(textIn(key, "pk")) }))];
    }
    return rows;
  }

  const counts = createDynamoCounts(client, table, retentionMs);

  const ttlAt = (at: number) => number(Math.ceil((at + retentionMs + ttlGraceMs) / 1000));
  return {
    read,
    claim: (claims) => allEnded(claims.map(claimOne)),
    settle: (settlements) => allEnded(settlements.map(settleOne)),
    defer: (writes) => allEnded(writes.map(deferOne)),
    async act(acts) {
      try {
        return await allEnded(acts.map(actOne));
      } finally {
        await counts.write().catch(() => undefined);
      }
    },
    writeCounts: counts.write,
    async note(notes) {
      await Promise.all(notes.map(noteOne));
    },
    async due({ until, after, line, limit }) {
      const items = await query("byDue", dueShardsOf(line), {
        ...(after === undefined ? {} : { after: `${timeKey(after.dueAt, after.id)}!` }),
        before: timeKey(until, "~"),
        limit,
      });
      return items.map((item): DueRow => {
        const { id, state, reason, token, attempt, route, requestId, agentId } = fromItem(item);
        return {
          id,
          state,
          reason,
          token,
          attempt,
          route,
          requestId,
          agentId,
          dueAt: numberIn(item, "dueAt"),
        };
      });
    },
    async sweptAt() {
      const item = await get("sweep");
      return item === undefined ? undefined : numberIn(item, "at");
    },
    async swept(at) {
      const Item = { pk: text("sweep"), at: number(at) };
      await client.send(new PutItemCommand({ TableName: table, Item }));
    },
    async lines() {
      const items = await query("byState", [lineShard], { limit: 1000 });
      return items.map((item) => textIn(item, "name"));
    },
    async list({ before, limit, ...of }) {
      const range = {
        ...(before === undefined
          ? {}
          : { before: justBefore(timeKey(before.acceptedAt, before.id)) }),
        descending: true,
        limit,
      };
      if ("state" in of) {
        return (await query("byState", stateShardsOf(of.state), range)).map(fromItem);
      }
      // The index is read for ids alone, which never change, and the rows as they stand now.
      const items = await ("requestId" in of
        ? query("byRequest", [of.requestId], range)
        : query("byNumber", [of.numberHash], range));
      const ids = items.map((item) => textIn(item, "id"));
      const rows = await read(ids);
      return ids.flatMap((id) => rows.get(id) ?? []);
    },
    async ended(before, limit) {
      const states = callStates.filter((state) => state !== "DEFERRED" && state !== "DIALING");
      const items = await query("byState", states.flatMap(stateShardsOf), {
        before: timeKey(before, "~"), // accepted before then: a row is never younger than its call
        writtenBefore: before,
        limit,
      });
      return items.map(fromItem).map(({ id, state }) => ({ id, state }));
    },
    async purge(ids, before) {
      await Promise.all(
        ids.map((id) =>
          conditional(() =>
            client.send(
              new DeleteItemCommand({
                TableName: table,
                Key: { pk: text(`call#${id}`) },
                ConditionExpression: "NOT #state IN (:deferred, :dialing) AND updatedAt < :before",
                ExpressionAttributeNames: { "#state": "state" },
                ExpressionAttributeValues: {
                  ":deferred": text("DEFERRED"),
                  ":dialing": text("DIALING"),
                  ":before": number(before),
                },
              }),
            ),
          ),
        ),
      );
    },
    ...createDynamoLimits(client, table, access),
    ...createDynamoOperator(client, table, access, retentionMs),
  };
}

/**
 * The results, once every write has ended. Rejected at the first failure, the caller would read its neighbours back
 * before their writes had taken effect, and give up calls that are then claimed for nobody.
 */
async function allEnded(writes: Promise<boolean>[]): Promise<boolean[]> {
  await Promise.allSettled(writes);
  return Promise.all(writes);
}
