/** Bundles the operator's console as the API serves it. */
import { resolve } from "node:path";
import { build } from "esbuild";

const folder = resolve(import.meta.dirname, "../../functions/api/console");

async function bundled(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(folder, file)],
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
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

/** The policy forbids foreign sources, inline code and framing. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Returns the console's page, its script and style sheet, and the Content-Security-Policy of the page. */
export async function consoleParts() {
  return { html, script: await bundled("page.tsx"), style: await bundled("page.css"), policy };
}
