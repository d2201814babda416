import { mutantsOf } from "./mutant.ts";

const dialer = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);
const api = (...names: string[]) => names.map((name) => `test/unit/api/${name}.test.ts`);

/** Rules about operators' and clients' orders: what a cancellation covers, and when an order is removed. */
export const orderMutants = [
  ...mutantsOf(
    [...dialer("orders", "client-cancellations"), ...api("client-requests")],
    [
      [
        "an order on a request ends it whenever it is accepted",
        "request: Infinity, redialed",
        "request: 0, redialed",
      ],
      [
        "an order on a request ends repeats of a day later",
        "request: Infinity, redialed",
        "request: 10_000, redialed",
      ],
      [
        "an order on a request ends redials that another clock has accepted",
        "redialed: 10_000, agent",
        "redialed: 0, agent",
      ],
      [
        "a redial that follows an order is meant",
        "redialed: 10_000, agent",
        "redialed: Infinity, agent",
      ],
      ["calls posted after an order on their agent are meant", "agent: 0 };", "agent: 10_000 };"],
      [
        "an order on an agent is not one on a request",
        'controlsOn({ agent: request.agent_id }, id, "agent")',
        'controlsOn({ agent: request.agent_id }, id, "request")',
      ],
      [
        "an order on a request is not one on an agent",
        'controlsOn({ request: requestIdOf(id) }, id, "request")',
        'controlsOn({ request: requestIdOf(id) }, id, "agent")',
      ],
      [
        "a redial is ended by the index of the call that it replaces",
        'controlsOn({ request: requestIdOf(one) }, one, "redialed")',
        'controlsOn({ request: requestIdOf(one) }, id, "redialed")',
      ],
      [
        "an operator's order is told before a client's",
        'orders.some((order) => order.client === null) ? "operator" : "client"',
        'orders.every((order) => order.client === null) ? "operator" : "client"',
      ],
      [
        "an order that is given again ends no less than before",
        "at: Math.max(at, earlier?.at ?? 0),",
        "at,",
      ],
    ],
  ),
  ...mutantsOf(api("late-removals"), [
    [
      "a document is removed on the version that was read",
      "if (stored.get(nameOf(key))?.version === seen) stored.delete(nameOf(key));",
      "stored.delete(nameOf(key)); void seen;",
    ],
    [
      "a pause that is given again has a fresh version",
      "const value = paused === undefined ? order : prolong(paused, order);",
      "if (paused !== undefined) return undefined;\n      const value = order;",
    ],
    [
      "a number that is listed again has a fresh version",
      "if (refused.length === 0) return;\n      const read",
      "if (refused.length >= 0) return;\n      const read",
    ],
    [
      "who removes what was put back meanwhile is told",
      "return keys.every(({ kind, key }) => left.get(kind, key) === undefined);",
      "return true;",
    ],
  ]),
  ...mutantsOf(dialer("opt-out"), [
    [
      "a callee's wish is written over an entry that stands",
      "if (refused.length === 0) return;",
      "if (refused.length >= 0) return;",
    ],
    [
      "a list that another writer changed meanwhile is named a key again",
      "if (isWritten === true) return { before, after: changed.value };",
      "return { before, after: changed.value }; void isWritten;",
    ],
  ]),
  ...mutantsOf(api("http-api"), [
    [
      "what an agent is sent after the order is not ended with the rows that wait",
      'return states[row.state].actions.includes("cancel") && isCovered(row, given);',
      'return states[row.state].actions.includes("cancel");',
    ],
    [
      "a cancellation tells of no call that it does not end",
      "if (!isEndedBy({ ...one, id }, given)) others += 1;",
      'if (one.state === "PLACED") others += 1;',
    ],
    [
      "a cancellation tells of calls that are still on the queue",
      "row?.batchCalls ?? callsIn(requestId)",
      "row?.batchCalls ?? 0; void callsIn",
    ],
  ]),
  ...mutantsOf(dialer("caps"), [
    [
      "a call that its number's cap let expire says so",
      'row?.reason === "max_calls" ? "max_calls" : "expired"',
      'row?.reason === "" ? "max_calls" : "expired"',
    ],
  ]),
];
