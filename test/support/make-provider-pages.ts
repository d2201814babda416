/**
 * `npm run pages`: makes the pages in docs/providers from what the adapters are tested with, so that no page says
 * anything that no test holds.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeProviderPages } from "./provider-pages.ts";
import { printHelp } from "../../infra/cli/help.ts";

const directory = join(import.meta.dirname, "../../docs/providers");

if (import.meta.main) {
  printHelp(`npm run pages

Writes the pages in docs/providers anew, from test/support/provider-answers and test/support/provider-results.`);
  for (const [name, text] of makeProviderPages()) await writeFile(join(directory, name), text);
}
