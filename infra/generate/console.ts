/** Makes the files of the operator's console, which the API serves. */
import { createHash } from "node:crypto";
import { basename, resolve } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";

const root = resolve(import.meta.dirname, "../..");

/** Keeps the reader of leads a file of its own, which the page's script imports from beside itself. */
const readerApart: Plugin = {
  name: "reader-apart",
  setup({ onResolve }) {
    onResolve({ filter: /\/leads\/reader\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./leads.js", external: true } : undefined,
    );
  },
};

const common: BuildOptions & { write: false } = {
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  plugins: [readerApart],
  // Rules stand beside texts that the page shows. None of what they import of Node stays in a script.
  external: ["node:*"],
  write: false,
  logLevel: "error",
};

async function bundled(file: string): Promise<string> {
  const { outputFiles } = await build({ ...common, entryPoints: [resolve(root, file)] });
  return outputFiles[0]?.text ?? "";
}

type Script = "page.js" | "views.js" | "shared.js";

/**
 * Makes the page's scripts: that of the first view, that of all others, and what both share. They name each other with
 * their build, so that a page never continues with the scripts of a later deployment.
 */
async function scripts(): Promise<Record<Script, string>> {
  const { outputFiles } = await build({
    ...common,
    entryPoints: ["page.tsx", "views.ts"].map((file) =>
      resolve(root, "functions/console/app", file),
    ),
    splitting: true,
    chunkNames: "shared",
    outdir: root,
  });
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  for (const [name, text] of texts)
    if (/\bfrom"node:|\bimport"node:/.test(text)) throw new Error(`${name} imports of Node`);
  const id = createHash("sha256")
    .update([...texts.values()].join("\n"))
    .digest("base64url")
    .slice(0, 10);
  const textOf = (name: Script) =>
    (texts.get(name) ?? "")
      .replaceAll("PAGE_BUILD_ID", id)
      .replaceAll(/"\.\/(shared|views)\.js"/g, `"./$1.js?${id}"`);
  return {
    "page.js": textOf("page.js"),
    "views.js": textOf("views.js"),
    "shared.js": textOf("shared.js"),
  };
}

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Outbound Calls: operator</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="operator/page.css">
<script type="module" src="operator/page.js"></script>
</head>
<body><noscript>This page needs JavaScript; npm run calls does the same.</noscript></body>
</html>
`;

/** Makes the files of the console, by their names: its page, its scripts and its style sheet. */
export async function consoleFiles(): Promise<
  Record<"page.html" | Script | "leads.js" | "page.css", string>
> {
  const [made, reader, style] = await Promise.all([
    scripts(),
    bundled("shared/leads/reader.ts"),
    bundled("functions/console/app/page.css"),
  ]);
  return { "page.html": html, ...made, "leads.js": reader, "page.css": style };
}
