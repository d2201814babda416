/**
 * `npm run pages`: makes docs/providers and the table of settings in docs/dial-plan.md from the code and from what the
 * adapters are tested with, so that no page says anything that no test holds.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printHelp } from "../../infra/cli/help.ts";
import { planSettingsTable } from "./plan-settings.ts";
import { makeProviderPages } from "./provider-pages.ts";

const docs = join(import.meta.dirname, "../../docs");

if (import.meta.main) {
  printHelp(`npm run pages

Writes the pages in docs/providers, and the settings in docs/dial-plan.md.`);
  for (const [name, text] of makeProviderPages()) {
    await writeFile(join(docs, "providers", name), text);
  }
  const plan = join(docs, "dial-plan.md");
  const filled = (await readFile(plan, "utf8")).replace(
    /(<!-- settings -->\n\n).*?(<!-- \/settings -->)/s,
    (_whole, before: string, after: string) => `${before}${planSettingsTable()}\n\n${after}`,
  );
  await writeFile(plan, filled);
}
