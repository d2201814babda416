/**
 * `npm run build` writes what the API serves of itself into functions/api/generated: its OpenAPI documents and the
 * operator's console. Bundlers, the type checker and the tests read these files, so each of them builds first.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { printHelp } from "../cli/help.ts";
import type { ServedFile } from "#functions/api/http/context.ts";
import { consoleFiles } from "./console.ts";
import { readersPage, readersPolicy } from "./docs-page.ts";
import { operatorDocument, publicDocument } from "./openapi.ts";

const folder = resolve(import.meta.dirname, "../../functions/api/generated");

/** Writes the generated files. A file that has not changed keeps its time, so that no watcher sees a change. */
export async function build(): Promise<void> {
  const readable = publicDocument();
  const served: Record<ServedFile, string> = {
    ...(await consoleFiles()),
    "docs.html": readersPage(readable),
    "openapi.json": JSON.stringify(readable),
    "operator-openapi.json": JSON.stringify(operatorDocument()),
  };
  for (const [name, text] of Object.entries(served)) await write(`served/${name}`, text);
  await write("docs-policy.json", JSON.stringify(readersPolicy));
  const etags = Object.entries(served).map(([name, text]) => [name, etagOf(text)] as const);
  await write("served-etags.json", JSON.stringify(Object.fromEntries(etags)));
}

/** Returns the `ETag` of a file: its digest, the same on every platform. */
function etagOf(text: string): string {
  return `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

/** Renames a finished file into place: a process that reads at the same time finds the old file or the new one. */
async function write(name: string, text: string): Promise<void> {
  const path = join(folder, name);
  const current = await readFile(path, "utf8").catch(() => undefined);
  if (text === current) return;
  await mkdir(dirname(path), { recursive: true });
  const draft = join(folder, `${basename(name)}.${process.pid}`); // apart from the served files, which are deployed as they stand
  await writeFile(draft, text);
  await rename(draft, path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printHelp(`npm run build

Writes the OpenAPI documents, /docs and the operator's page into functions/api/generated. Other commands do it by themselves.`);
  await build();
}
