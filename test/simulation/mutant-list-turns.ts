import { mutantsOf, type Mutant } from "./mutant.ts";

const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);
const turns = "test/simulation/turns.test.ts";
const waiting = "test/simulation/waiting.test.ts";

/** Rules about whose turn it is: what is in flight, allowances, slow calls, and turns. */
export const turnMutants: readonly Mutant[] = [
  ...mutantsOf(
    [
      ...unit(
        "dispatcher",
        "dispatches",
        "turns-of-backlogs",
        "hanging",
        "probes",
        "breakers-of-accounts",
        "between-looks",
        "due-rows",
      ),
      turns,
      waiting,
    ],
    [
      [
        "a row is dispatched once",
        "({ id, dueAt }) => dueAt <= now && !inFlight.isSent(id)",
        "({ dueAt }) => dueAt <= now",
      ],
      [
        "a row that is not due is not dispatched",
        "({ id, dueAt }) => dueAt <= now && !inFlight.isSent(id)",
        "({ id }) => !inFlight.isSent(id)",
      ],
      [
        "a row whose dispatch was lost is dispatched again",
        "} else if (now - row.at > sentMsMax + checkMsOf(backlog)) {",
        "} else if (now - row.at > 1000 * sentMsMax) {",
      ],
      [
        "what has left the backlog counts as completed",
        "sent.take(id);\n          completions.add(row.account);",
        "sent.take(id);",
      ],
      [
        "calls under way are in flight",
        "sent.countOf(account) + dialing.countOf(account)",
        "sent.countOf(account)",
      ],
      [
        "calls of a backlog under way are in flight",
        "sent.countIn(backlog) + dialing.countIn(backlog)",
        "sent.countIn(backlog)",
      ],
      [
        "rows beyond those that were read may still stand",
        "return !isCut || (last !== undefined && comparePositions(row, last) <= 0);",
        "return isCut || last !== null;",
      ],
      [
        "an account whose queue lags is sent less",
        "if (isLagging) return Math.max(laggingMin, Math.floor((before ?? most) / 2));",
        "",
      ],
      [
        "an account that lags no longer is sent more again",
        "const doubled = before === undefined ? Infinity : before * 2;",
        "const doubled = before === undefined ? Infinity : before;",
      ],
      [
        "an account is sent few calls at first",
        "Math.min(Math.max(firstAllowance, 2 * sumOf(completed)), 2 * connections, lagMax)",
        "Math.min(Infinity, 2 * connections, lagMax)",
      ],
      [
        "an account that completes its calls is sent twice as many",
        "Math.min(Math.max(firstAllowance, 2 * sumOf(completed)), 2 * connections, lagMax)",
        "Math.min(firstAllowance, 2 * connections, lagMax)",
      ],
      [
        "an account is sent no more than the deployment can dial",
        "Math.min(Math.max(firstAllowance, 2 * sumOf(completed)), 2 * connections, lagMax)",
        "Math.min(Math.max(firstAllowance, 2 * sumOf(completed)), lagMax)",
      ],
      [
        "what is in flight counts towards an account's allowance",
        "const free = most - inFlight;",
        "const free = most;",
      ],
      [
        "behind an account's open breaker one call is dispatched",
        'return { count: inFlight === 0 ? 1 : 0, most: 1, why: "breaker_open" };',
        'return { count: 25, most: 1, why: "breaker_open" };',
        [
          "return inFlight === 0 && open.every((one) => mayProbe(one, of, now)) ? 1 : 0;",
          "return 25;",
        ],
      ],
      [
        "behind an open breaker nothing is dispatched before its probe",
        "return inFlight === 0 && open.every((one) => mayProbe(one, of, now)) ? 1 : 0;",
        "return inFlight === 0 ? 1 : 0;",
      ],
      [
        "a backlog without an answer has five calls in flight",
        "return answers === null ? Math.max(0, unreachableMax - inFlight) : Infinity;",
        "return Infinity;",
      ],
      [
        "the permitTimes of a pace that are given out are not given out again",
        "const permitTimes = all.slice(sent);",
        "const permitTimes = all;",
      ],
      [
        "calls of a pace are dispatched some seconds ahead",
        "const window = { notBefore: Math.ceil(now), notAfter: now + paceAheadMs };",
        "const window = { notBefore: Math.ceil(now), notAfter: now + 100 * paceAheadMs };",
      ],
      [
        "paced rows travel with their seconds",
        "const delaySeconds = Math.min(Math.max(0, Math.floor(waitMs / 1000)), delaySecondsMax);",
        "const delaySeconds = 0; void waitMs; void delaySecondsMax;",
      ],
      [
        "dispatches that the queue refuses are told",
        'if (left > 0) log("warning", "dispatch.send_failed", { count: left });',
        "",
      ],
    ],
  ),
  ...mutantsOf(
    [
      ...unit(
        "dispatcher",
        "dispatches",
        "turns-of-backlogs",
        "hanging",
        "fresh-calls",
        "restore",
        "due-rows",
      ),
      turns,
      waiting,
    ],
    [
      [
        "slow calls hold at most half of the connections",
        "const most = Math.max(1, Math.floor(connections / 2));",
        "const most = connections * 2;",
      ],
      [
        "slow calls travel in messages of their own",
        "const list = isSlow ? slow : permitAt === undefined ? quick : (paced.get(account) ?? []);",
        "const list = permitAt === undefined ? quick : (paced.get(account) ?? []);",
      ],
      [
        "a backlog that was never answered is slow where its account is",
        'return answers === "slow" || (answers === null && !isAccountQuick);',
        'return answers === "slow";',
      ],
      [
        "a backlog that is answered slowly is slow",
        'return answers === "slow" || (answers === null && !isAccountQuick);',
        "return answers === null && !isAccountQuick;",
      ],
      [
        "slow calls that are dispatched use their room up",
        "account.slowLeft -= 1;\n    shares.slowLeft -= 1;",
        "",
      ],
      [
        "nothing paused is dispatched",
        "allowed: () => [...waiting.values()].filter(({ isPaused }) => !isPaused),",
        "allowed: () => [...waiting.values()],",
      ],
      [
        "nothing is dispatched while the ledger is held",
        "return state.isSuspended || (sweep !== undefined && isTooFarAhead(sweep));",
        "return sweep !== undefined && isTooFarAhead(sweep);",
        ["if (read.isSuspended) return decided;", ""],
      ],
      [
        "nothing is dispatched while a restore would not be noticed",
        "return state.isSuspended || (sweep !== undefined && isTooFarAhead(sweep));",
        "return state.isSuspended; void sweep;",
      ],
      [
        "rows that must not be dialed take no turn",
        'const isClosed = decision.kind === "write";',
        "const isClosed = false;",
      ],
      [
        "rows that must not be dialed are written off",
        "await writeOff([...closed.keys()].slice(0, writtenOffMax), { endsOnly: false }, deps);",
        "void writeOff; void closed;",
      ],
      [
        "an account is busy while rows that might go are left",
        "const isBusy = own.length > 0 && isFull;",
        "const isBusy = false;",
      ],
      [
        "an account is not busy by a row that is served at once",
        "const isBusy = own.length > 0 && isFull;",
        "const isBusy = true;",
      ],
      [
        "the clients of an account take turns",
        "const turn = countUpTo(names, served.client) % Math.max(1, names.length);",
        "const turn = 0;",
      ],
      [
        "the agents of a client take turns",
        'const agentTurn = countUpTo(agents, served.agents.get(client) ?? "") % agents.length;',
        "const agentTurn = 0;",
      ],
      [
        "the turns go on where the last dispatcher stood",
        "return served.get(account) ?? { client, agents: new Map(Object.entries(agents)) };",
        'return served.get(account) ?? { client: "", agents: new Map() }; void client; void agents;',
      ],
      [
        "each client needs as many rows as the next",
        "const each = Math.ceil(left / chosen.size / backlogs.length);",
        "const each = 1;",
      ],
      [
        "a backlog that was used lately is looked at",
        "return now - value.usedAt < usedMs && (head.next === null || head.next.dueAt > now);",
        "return false;",
      ],
      [
        "a backlog whose document has changed is looked at",
        "if (head?.version !== version || head.next === undefined) return true;\n      return now",
        "if (head === undefined) return true;\n      return now",
        [
          "if (head?.version !== version || head.next === undefined) return true;\n      return head.next !== null",
          "if (head?.next === undefined) return true;\n      return head.next !== null",
        ],
      ],
      [
        "a dialer whose plan says another account drops the row",
        "if (dispatchedFor !== undefined && account !== dispatchedFor) continue;",
        "",
      ],
    ],
  ),
];
