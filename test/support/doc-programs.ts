import { readFile } from "node:fs/promises";
import { build } from "esbuild";

/** Returns the programs that a page shows in a language, in order. */
export async function programsIn(page: string, language = "ts"): Promise<string[]> {
  const fenced = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms");
  return [...(await readFile(page, "utf8")).matchAll(fenced)].map(([, program = ""]) => program);
}

/** Bundles a program that imports the client library for Node, from the library's sources. */
export async function bundleProgram(program: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: program, loader: "ts", resolveDir: "." },
    alias: { "outbound-calls-client": "./infra/client/index.ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
  });
  return outputFiles[0]?.text ?? "";
}
