/**
 * `npm run pages`: makes docs/providers, the list of settings in docs/dial-plan.md and the examples of events from the
 * code and from what the adapters are tested with, so that no page says anything that no test holds.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printHelp } from "#infra/cli/help.ts";
import { eventExamples } from "#infra/generate/examples.ts";
import { planSettingsList } from "./plan-settings.ts";
import { makeProviderPages } from "./provider-pages.ts";

const docs = join(import.meta.dirname, "../../docs");

if (import.meta.main) {
  printHelp(`npm run pages

Writes the pages in docs/providers, the settings in docs/dial-plan.md, and docs/examples/events.json.`);
  for (const [name, text] of makeProviderPages()) {
    await writeFile(join(docs, "providers", name), text);
  }
  const events = `${JSON.stringify(Object.values(eventExamples), undefined, 2)}\n`;
  await writeFile(join(docs, "examples/events.json"), events);
  const plan = join(docs, "dial-plan.md");
  const filled = (await readFile(plan, "utf8")).replace(
    /(<!-- settings -->\n\n).*?(<!-- \/settings -->)/s,
    (_whole, before: string, after: string) => `${before}${planSettingsList()}\n\n${after}`,
  );
  await writeFile(plan, filled);
}
