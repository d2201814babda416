/** Makes the files of the operator's console, which the API serves. */
import { resolve } from "node:path";
import { build, type Plugin } from "esbuild";

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

async function bundled(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(root, file)],
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    plugins: [readerApart],
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
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

/** Makes the files of the console, by their names: its page, its script and its style sheet. */
export async function consoleFiles(): Promise<
  Record<"page.html" | "page.js" | "leads.js" | "page.css", string>
> {
  const [script, reader, style] = await Promise.all([
    bundled("functions/console/page.tsx"),
    bundled("shared/leads/reader.ts"),
    bundled("functions/console/page.css"),
  ]);
  return { "page.html": html, "page.js": script, "leads.js": reader, "page.css": style };
}
