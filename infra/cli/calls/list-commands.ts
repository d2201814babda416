import { writeFile } from "node:fs/promises";
import type { Audit, ErasedAnswer, ListedNumbers, Me } from "#shared/answers/answers.ts";
import { toRefusedCsv } from "#shared/leads/refused-csv.ts";
import type { Command, CommandDeps } from "./command.ts";
import { counted, exitUnlessAgreed } from "./agree.ts";
import { listCalls } from "./chosen-calls.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import { readBytes } from "./files.ts";
import type { NumberList } from "#shared/leads/read-numbers.ts";
import { readNumberList } from "./number-list.ts";
import { countryOf, readTypedNumbers } from "./typed-numbers.ts";
import type { Json } from "./json.ts";
import { numberOf, type Values } from "./options.ts";
import { barOf, say, show } from "./terminal.ts";

const formerRetired =
  "The former HASH_KEY is retired. Now set HASH_KEY to the current one alone: npm run secrets -- set HASH_KEY --replace";

/** Maximum numbers of one request. */
const numbersMax = 10_000;
/** Maximum entries of one page of the audit log. */
const auditPageMax = 200;

/** Maximum lines of one file that are named as refused. */
const linesMax = 20;

const noNumbers: NumberList = { numbers: [], read: 0, refused: [] };

/** Names the lines of a file that were not read, without what stands there. */
function linesText(refused: NumberList["refused"], { refused: file }: Values): string {
  const byReason = Map.groupBy(refused, ({ reason }) => reason);
  const isLong = [...byReason.values()].some((all) => all.length > linesMax);
  const texts = [...byReason].map(([reason, all]) => {
    const lines = all.slice(0, linesMax).map(({ line }) => line);
    const more = all.length > linesMax ? ` and ${all.length - linesMax} more` : "";
    return `line${all.length === 1 ? "" : "s"} ${lines.join(", ")}${more}: ${reason}`;
  });
  const hint = isLong && file === undefined ? " --refused FILE writes all of them as CSV." : "";
  return `Refused: ${texts.join("; ")}.${hint}`;
}

/** Writes the refused lines into the file that --refused names, to be corrected and read again. */
async function writeRefused(refused: NumberList["refused"], { refused: file }: Values) {
  if (file === undefined || refused.length === 0) return;
  const rows = refused.map(({ line, reason, text }) => ({
    line,
    reason,
    cells: [text],
    isDuplicate: false,
  }));
  await writeFile(file, toRefusedCsv(["phone number"], rows), { mode: 0o600 }).catch(() => {
    throw new Misuse(`${file} cannot be written.`);
  });
}

/** Reads the numbers of --file. What is to be checked or removed must be right in whole. */
async function listOf(verb: string | undefined, values: Values, { ask, terminal }: CommandDeps) {
  if (values.file === undefined) return noNumbers;
  const country = await countryOf(values, ask);
  if (values.country === undefined && country !== undefined) {
    terminal.complain(
      `Numbers without a country code are read as those of ${country}, by the plan.`,
    );
  }
  const list = readNumberList(await readBytes(values.file, terminal), { ...values, country });
  if (list.refused.length > 0 && verb !== "add") {
    throw new Misuse(`${linesText(list.refused, values)} Nothing was sent.`);
  }
  await writeRefused(list.refused, values);
  return list;
}

/** Adds or removes numbers. Resolves to how many were on the list before; undefined if that is not known, as of a list that is sent again. */
async function changeList(
  { verb, numbers }: { verb: "add" | "remove"; numbers: readonly string[] },
  values: Values,
  { ask, terminal }: CommandDeps,
): Promise<number | undefined> {
  const bar = barOf(numbers.length, values, terminal);
  let known: number | undefined = values.renew === true ? undefined : 0;
  for (let start = 0; start < numbers.length; start += numbersMax) {
    const some = numbers.slice(start, start + numbersMax);
    const isLast = start + numbersMax >= numbers.length;
    const renew = values.renew === true && isLast ? { renew: true } : {};
    const asked = { phone_numbers: some, ...ofClient(values) };
    const before = known === undefined ? undefined : await countListed(asked, ask);
    known = before === undefined || known === undefined ? undefined : known + before;
    const more = isLast ? {} : { more: true };
    await ask("/do-not-call", { [verb]: some, ...ofClient(values), ...renew, ...more });
    bar.update(start + some.length);
  }
  bar.stop();
  return known;
}

/** The client whose own entries are meant. */
function ofClient({ client }: Values): { client?: string } {
  return client === undefined ? {} : { client };
}

/** Counts those of the numbers that are on the list, for people. Undefined: the count failed, which prevents no change of the list. */
async function countListed(
  asked: { phone_numbers: readonly string[]; client?: string },
  ask: CommandDeps["ask"],
): Promise<number | undefined> {
  try {
    const { listed } = await ask<ListedNumbers>("/find-listed", asked);
    return listed.length;
  } catch (error) {
    if (error instanceof Refusal || error instanceof Failure) return undefined;
    throw error;
  }
}

/** Returns for each number if it is on the list. */
async function checkNumbers(
  all: readonly string[],
  client: { client?: string },
  ask: CommandDeps["ask"],
): Promise<Json[]> {
  const answers: Json[] = [];
  for (let start = 0; start < all.length; start += numbersMax) {
    const some = all.slice(start, start + numbersMax);
    const { listed } = await ask<ListedNumbers>("/find-listed", { phone_numbers: some, ...client });
    const onList = new Set(listed);
    answers.push(
      ...some.map((phone_number, index) => ({ phone_number, listed: onList.has(index) })),
    );
  }
  return answers;
}

/** Commands for the do-not-call list and the audit log. */
export const listCommands: Record<string, Command> = {
  async dnc([verb, ...numbers], values, { ask, terminal }) {
    if (verb === "retire-former-key") {
      if (numbers.length > 0) throw new Misuse("dnc retire-former-key takes no numbers.");
      await ask("/hash-key/retire-former", {});
      say(formerRetired, { retired: true }, { values, terminal });
      return 0;
    }
    const list = await listOf(verb, values, { ask, terminal });
    const { refused } = list;
    const typed = await readTypedNumbers(numbers, values, { ask, terminal });
    const all = [...new Set([...typed, ...list.numbers])];
    if (all.length === 0 && refused.length > 0) throw new Misuse(linesText(refused, values));
    if (all.length === 0) throw new Misuse("dnc needs numbers, or --file.");
    if (verb === "check") {
      const answers = await checkNumbers(all, ofClient(values), ask);
      show(answers, ["phone_number", "listed"], { values, terminal });
      return 0;
    }
    if (verb !== "add" && verb !== "remove")
      throw new Misuse("dnc is followed by add, remove, check or retire-former-key.");
    if (verb === "remove") {
      const numbersText = counted(all.length, "number");
      const by = values.client === undefined ? "" : ` by client ${values.client}`;
      const does = `takes ${numbersText} off the do-not-call list, so that they may be called again${by}`;
      const act = { does, answer: { numbers: all.length } };
      const exit = await exitUnlessAgreed(act, { values, terminal });
      if (exit !== undefined) return exit;
    }
    const known = await changeList({ verb, numbers: all }, values, { ask, terminal });
    const before = verb === "add" ? " before" : "";
    const onList = known === undefined ? "" : `, ${known} were on the list${before}`;
    const lines = refused.map(({ line, reason }) => ({ line, reason }));
    const answer = {
      [verb]: all.length,
      read: numbers.length + list.read,
      ...(known !== undefined && { known }),
      refused: lines,
    };
    say(`${counted(all.length, "number")}: ${verb} done${onList}.`, answer, { values, terminal });
    if (refused.length > 0) terminal.complain(linesText(refused, values));
    return refused.length > 0 ? 2 : 0;
  },

  async erase(texts, values, { ask, terminal }) {
    if (texts.length === 0) throw new Misuse("erase needs numbers.");
    const numbers = await readTypedNumbers(texts, values, { ask, terminal });
    const act = await eraseAct(numbers, { ask, terminal });
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
    const answers: Json[] = [];
    for (const phone_number of numbers) {
      const answer = await ask<ErasedAnswer>("/erase", { phone_number });
      const others = answer.may_also_be.map((one) => one.phone_number);
      const { erased, pending } = answer;
      answers.push({
        phone_number,
        erased,
        pending: pending.length,
        may_also_be: others.join(" "),
      });
    }
    show(answers, ["phone_number", "erased", "pending", "may_also_be"], { values, terminal });
    return 0;
  },

  async audit(_rest, values, { ask, terminal }) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const entries: Audit["entries"] = [];
    let cursor: string | undefined;
    do {
      const size = String(Math.min(auditPageMax, limit - entries.length));
      const query = new URLSearchParams({
        limit: size,
        ...(values.clients === true && { of: "clients" }),
        ...Object.fromEntries([
          ...auditFilters.flatMap((one) => filterOf(one, values[one])),
          ...filterOf("by", values.token),
        ]),
        ...(cursor && { cursor }),
      });
      const page = await ask<Audit>(`/audit?${query.toString()}`);
      entries.push(...page.entries);
      cursor = page.cursor;
    } while (cursor !== undefined && entries.length < limit);
    show(entries, ["at", "by", "action", "target", "count", "times", "reason", "exposes"], {
      values,
      terminal,
    });
    return 0;
  },
};

const auditFilters = ["action", "target", "from", "until"] as const;

function filterOf(name: string, value: unknown): [string, string][] {
  return typeof value === "string" ? [[name, value]] : [];
}

/** Counts what `erase` would erase, without the numbers. */
async function eraseAct(numbers: readonly string[], deps: CommandDeps) {
  const what = `erases, for good, what is known of ${counted(numbers.length, "number")}`;
  const { roles } = await deps.ask<Me>("/me");
  if (!roles.includes("find")) {
    const does = `${what}, and cancels what waits for it; the token lacks the role find, so its calls are not counted`;
    return { does, answer: { numbers: numbers.length } };
  }
  let calls = 0;
  let waiting = 0;
  try {
    for (const number of numbers) {
      for await (const { state } of listCalls({ number }, deps)) {
        calls += 1;
        if (state === "WAITING") waiting += 1;
      }
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // A token may look for 100 numbers in an hour, and erase more.
    const does = `${what}, and cancels what waits for it; its calls could not be counted: ${error.message}`;
    return { does, answer: { numbers: numbers.length } };
  }
  const does = `${what} in ${counted(calls, "call")}, and cancels the ${waiting} that wait`;
  return { does, answer: { numbers: numbers.length, calls, waiting } };
}
