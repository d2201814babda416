import type { Audit } from "../../../functions/api/actions/audit-log.ts";
import type { ErasedAnswer } from "../../../functions/api/operator/erase.ts";
import type { NumberChecked } from "../../../functions/api/operator/do-not-call.ts";
import type { Command, CommandDeps } from "./command.ts";
import { counted, exitUnlessAgreed } from "./agree.ts";
import { listCalls } from "./chosen-calls.ts";
import { Misuse } from "./failures.ts";
import { readNumbers } from "./files.ts";
import type { Json } from "./json.ts";
import { numberOf } from "./options.ts";
import { barOf, say, show } from "./terminal.ts";

const formerEnded =
  "The former HASH_KEY has ended. Now set HASH_KEY to the current one alone: npm run secrets -- set HASH_KEY --replace";

/** Maximum numbers of one request. */
const numbersMax = 10_000;
/** Maximum entries of one page of the audit log. */
const auditPageMax = 200;

/** Commands for the do-not-call list and the audit log. */
export const listCommands: Record<string, Command> = {
  async dnc([verb, ...numbers], values, { ask, terminal }) {
    if (verb === "end-former-key") {
      if (numbers.length > 0) throw new Misuse("dnc end-former-key takes no numbers.");
      await ask("/hash-key/end-former", {});
      say(formerEnded, { ended: true }, { values, terminal });
      return 0;
    }
    const listed = values.file === undefined ? [] : await readNumbers(values.file, terminal);
    const all = [...numbers, ...listed];
    if (all.length === 0) throw new Misuse("dnc needs numbers, or --file.");
    if (verb === "check") {
      const answers: Json[] = [];
      for (const phone_number of all) {
        const answer = await ask<NumberChecked>("/do-not-call/check", { phone_number });
        answers.push({ phone_number, ...answer });
      }
      show(answers, ["phone_number", "listed"], { values, terminal });
      return 0;
    }
    if (verb !== "add" && verb !== "remove")
      throw new Misuse("dnc is followed by add, remove, check or end-former-key.");
    if (verb === "remove") {
      const numbersText = counted(all.length, "number");
      const does = `takes ${numbersText} off the do-not-call list, so that they may be called again`;
      const act = { does, answer: { numbers: all.length } };
      const exit = await exitUnlessAgreed(act, { values, terminal });
      if (exit !== undefined) return exit;
    }
    const bar = barOf(all.length, values, terminal);
    for (let start = 0; start < all.length; start += numbersMax) {
      const some = all.slice(start, start + numbersMax);
      const isLast = start + numbersMax >= all.length;
      const renew = values.renew === true && isLast ? { renew: true } : {};
      await ask("/do-not-call", { [verb]: some, ...renew, ...(isLast ? {} : { more: true }) });
      bar.update(start + some.length);
    }
    bar.stop();
    say(
      `${counted(all.length, "number")}: ${verb} done.`,
      { [verb]: all.length },
      { values, terminal },
    );
    return 0;
  },

  async erase(numbers, values, { ask, terminal }) {
    if (numbers.length === 0) throw new Misuse("erase needs numbers.");
    const act = await eraseAct(numbers, { ask, terminal });
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
    const answers: Json[] = [];
    for (const phone_number of numbers) {
      const { erased, pending } = await ask<ErasedAnswer>("/erase", { phone_number });
      answers.push({ phone_number, erased, pending: pending.length });
    }
    show(answers, ["phone_number", "erased", "pending"], { values, terminal });
    return 0;
  },

  async audit(_rest, values, { ask, terminal }) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const entries: Audit["entries"] = [];
    let cursor: string | undefined;
    do {
      const size = String(Math.min(auditPageMax, limit - entries.length));
      const query = new URLSearchParams({ limit: size, ...(cursor && { cursor }) });
      const page = await ask<Audit>(`/audit?${query.toString()}`);
      entries.push(...page.entries);
      cursor = page.cursor;
    } while (cursor !== undefined && entries.length < limit);
    show(entries, ["at", "by", "action", "target", "count", "reason"], { values, terminal });
    return 0;
  },
};

/** Counts what `erase` would erase, without the numbers. */
async function eraseAct(numbers: readonly string[], deps: CommandDeps) {
  let calls = 0;
  let waiting = 0;
  for (const number of numbers) {
    for await (const { state } of listCalls({ number }, deps)) {
      calls += 1;
      if (state === "WAITING") waiting += 1;
    }
  }
  const does =
    `erases, for good, what is known of ${counted(numbers.length, "number")} in ` +
    `${counted(calls, "call")}, and cancels the ${waiting} of these that wait`;
  return { does, answer: { numbers: numbers.length, calls, waiting } };
}
