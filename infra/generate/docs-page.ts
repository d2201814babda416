import { createHash } from "node:crypto";
import type { PublicDocument } from "./openapi.ts";

const escaped = (text: unknown) =>
  String(text).replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
/** The page's only style sheet, inline, and permitted by its digest. */
const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{overflow-x:auto;padding:.75rem;border:1px solid #8888;border-radius:.4rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .5rem;border-bottom:1px solid #8885}`;

const digest = createHash("sha256").update(style).digest("base64");
/** The Content-Security-Policy of the page. */
export const readersPolicy = `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Renders the public OpenAPI document as one page that loads nothing else. */
export function readersPage({ info, paths, components }: PublicDocument): string {
  const rows = (cells: [unknown, unknown][]) =>
    cells
      .map(
        ([name, text]) =>
          `<tr><th scope="row"><code>${escaped(name)}</code></th><td>${escaped(text)}</td></tr>`,
      )
      .join("");
  const answersOf = (responses: object) =>
    Object.entries(responses).map(([status, answer]): [string, string] => {
      const name = String(Object(answer).$ref ?? "")
        .split("/")
        .at(-1);
      const known = Object.entries(components.responses).find(([one]) => one === name);
      return [status, known?.[1].description ?? String(Object(answer).description)];
    });
  const { properties = {}, required = [] } = Object(components.schemas["Call"]);
  const fields = Object.entries(properties).map(([name, field]): [string, string] => {
    const isRequired = required.includes(name);
    return [name, `${isRequired ? "required" : "optional"}: ${String(Object(field).description)}`];
  });
  const sections = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const { summary, description, requestBody, responses } = Object(operation);
      const body: unknown = requestBody?.content["application/json"].example;
      const told = [summary, description].filter(Boolean).join(". ");
      return `<section><h2><code>${method.toUpperCase()} ${escaped(path)}</code></h2><p>${escaped(told)}</p>
<pre tabindex="0">${escaped(curlOf(method, path, body))}</pre><table><caption>Answers</caption>${rows(answersOf(responses))}</table></section>`;
    }),
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)}</title><style>${style}</style></head><body><main><h1>${escaped(info.title)}</h1>
<p>${escaped(info.summary)} ${escaped(info.description)}</p><p><a href="openapi.json">OpenAPI 3.1 document</a></p>
<h2>A call</h2><table>${rows(fields)}</table>${sections.join("")}</main></body></html>`;
}

function curlOf(method: string, path: string, body: unknown): string {
  const url = `"$URL${path.replace("{id}", "$REQUEST_ID")}"`;
  const token = '-H "Authorization: Bearer $TOKEN"';
  if (body === undefined) return `curl ${method === "get" ? "" : "-X POST "}${url} ${token}`;
  return `curl -i ${url} \\
  ${token} -H "Content-Type: application/json" \\
  -H "Idempotency-Key: campaign-7-part-1" \\
  -d '${JSON.stringify(body, null, 2)}'`;
}
