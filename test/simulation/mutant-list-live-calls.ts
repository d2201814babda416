import { mutantsOf, type Mutant } from "./mutant.ts";

/** Rules about the live calls of an account. */
export const liveCallMutants: readonly Mutant[] = mutantsOf(
  ["test/unit/dialer/live-calls.test.ts"],
  [
    [
      "an account has no more live calls than it may have",
      '(isLive ? undefined : toWaiting("live_calls", claim));',
      "undefined;",
    ],
    [
      "an entry is written on condition of what was read",
      "left = parted.flatMap(({ own }, index) => (written[index] === true ? [] : own));",
      "for (const { own } of parted) for (const one of own) entered.add(one); left = [];",
    ],
    [
      "a call that has ended leaves",
      "const ended = changed.filter(({ result }) => hasEnded(result));",
      "const ended = changed.filter(() => false);",
    ],
    [
      "a call that was not placed leaves",
      "await leaveLive([{ id: row.id, claim: version, route, isMeasured: false }], deps);",
      "",
    ],
    [
      "a live call counts until its end at most",
      "const live = entries.filter(({ endsAt }) => endsAt > now);",
      "const live = entries;",
    ],
    [
      "what a dead process left is removed",
      "!unreadable.has(call) && !mayBeLive(rows.get(call))",
      "false",
    ],
    [
      "a call that may be live stays",
      "!unreadable.has(call) && !mayBeLive(rows.get(call))",
      "!unreadable.has(call)",
    ],
    [
      "a full account's live calls are polled",
      "if (due.size === 0) return;",
      "if (due.size >= 0) return;",
    ],
  ],
);
