import { mutantsOf, type Mutant } from "./mutant.ts";

/** Rules about the guards: calls of a day, and of a client that wait. */
export const guardMutants: readonly Mutant[] = [
  ...mutantsOf(
    ["test/unit/api/client-guards.test.ts"],
    [
      [
        "no more calls of a day are counted than its limit",
        "if (total <= limit) return { isCounted: true, total };",
        "if (total - calls <= limit) return { isCounted: true, total };",
      ],
      [
        "calls above the limit are given back",
        "{ calls: -calls, refused: 1 }",
        "{ calls: 0, refused: 1 }",
      ],
      [
        "a repeat of an accepted request is not counted again",
        "if (origin.isReplay) await giveBack();",
        "",
      ],
      [
        "a request above a limit binds no key",
        'return findOrigin(c, { ...request, refusals: [{ pointer: "", detail: refusal }] }, deps);',
        "const o = await findOrigin(c, request, deps); return o instanceof Response || o.isReplay ? o : answerUnreachable(c, { requestId, error: refusal }, deps);",
      ],
      [
        "a request that is refused is given back",
        "if (origin.status === 422) await giveBack();",
        "",
      ],
      [
        "calls that may come again under their key stay counted",
        "return isKeyed ? origin : { ...origin, giveBack };",
        "return { ...origin, giveBack };",
      ],
      ["calls that the queue did not take are given back", "await origin.giveBack?.();", ""],
      [
        "calls since the last count are taken for waiting",
        "const most = last.waiting + Math.max(calls, total - last.calls);",
        "const most = last.waiting + calls;",
      ],
      [
        "the waiting calls of yesterday's count are not those of today",
        "if (last !== undefined && dayOf(last.at) === dayOf(at)) {",
        "if (last !== undefined) {",
      ],
      [
        "waiting rows are counted for their client alone",
        "const backlogs = listed.flatMap(({ key }) => (key.startsWith(prefix) ? { key } : []));",
        "const backlogs = listed.map(({ key }) => ({ key }));",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/dialer/account-days.test.ts"],
    [
      [
        "an account places no more calls a day than it may",
        '(isInDay ? undefined : toWaiting("calls_per_day", claim)) ??',
        "",
      ],
      [
        "a call that was not placed leaves its account's day",
        "if (claim.isInDay === true) await leaveDay({ row, route: dial.route }, deps);",
        "",
      ],
      [
        "a call that was not counted is not given back",
        "if (claim.isInDay === true) await leaveDay({ row, route: dial.route }, deps);",
        "await leaveDay({ row, route: dial.route }, deps);",
      ],
      [
        "a full account's calls are not dispatched",
        'if (dayFree <= 0) return { count: 0, most: inFlight, why: "calls_per_day" };',
        "",
        [
          "const room = Math.min(opened, linesFree, dayFree);",
          "const room = Math.min(opened, linesFree);",
        ],
      ],
      [
        "days are counted one by one",
        'return { kind: "day-counts", key: JSON.stringify([...(name ?? []), dayTextOf(at)]) };',
        'return { kind: "day-counts", key: JSON.stringify(name ?? []) };',
      ],
    ],
  ),
];
