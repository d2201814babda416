import { readFile } from "node:fs/promises";
import type { Audit } from "../../../functions/api/actions/audit-log.ts";
import type { ErasedAnswer } from "../../../functions/api/operator/erase.ts";
import type { NumberChecked } from "../../../functions/api/operator/do-not-call.ts";
import type { Command } from "./command.ts";
import { Failure } from "./failures.ts";
import type { Json } from "./json.ts";
import { numberOf } from "./options.ts";
import { barOf, say, show } from "./terminal.ts";

const formerEnded =
  "The former HASH_KEY has ended. Now set HASH_KEY to the current one alone: npm run secrets -- set HASH_KEY --replace";

/** Maximum numbers of one request. */
const numbersMax = 10_000;

/** Commands for the do-not-call list and the audit log. */
export const listCommands: Record<string, Command> = {
  async dnc([verb, ...numbers], values, { ask, terminal }) {
    if (verb === "end-former-key") {
      if (numbers.length > 0) throw new Failure("dnc end-former-key takes no numbers.");
      await ask("/hash-key/end-former", {});
      say(formerEnded, { ended: true }, { values, terminal });
      return 0;
    }
    const listed = values.file === undefined ? [] : await numbersIn(values.file);
    const all = [...numbers, ...listed];
    if (all.length === 0) throw new Failure("dnc needs numbers, or --file.");
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
      throw new Failure("dnc is followed by add, remove, check or end-former-key.");
    const bar = barOf(all.length, values, terminal);
    for (let start = 0; start < all.length; start += numbersMax) {
      const some = all.slice(start, start + numbersMax);
      const isLast = start + numbersMax >= all.length;
      const renew = values.renew === true && isLast ? { renew: true } : {};
      await ask("/do-not-call", { [verb]: some, ...renew, ...(isLast ? {} : { more: true }) });
      bar.update(start + some.length);
    }
    bar.stop();
    say(`${all.length} numbers: ${verb} done.`, { [verb]: all.length }, { values, terminal });
    return 0;
  },

  async erase(numbers, values, { ask, terminal }) {
    if (numbers.length === 0) throw new Failure("erase needs numbers.");
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
    const { entries } = await ask<Audit>(`/audit?limit=${Math.min(limit, 200)}`);
    show(entries, ["at", "by", "action", "target", "count", "reason"], { values, terminal });
    return 0;
  },
};

/** Reads the phone numbers of a file, separated by white space. */
async function numbersIn(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new Failure(`${file} cannot be read.`);
  });
  return text.split(/\s+/).filter((word) => word !== "");
}
