import { createHash } from "node:crypto";
import {
  anchorOf,
  escaped,
  fieldRows,
  linkTo,
  nameIn,
  needOf,
  type Row,
  rowOf,
  type SectionKind,
  tableOf,
  typeOf,
} from "./docs-schema.ts";
import type { Json } from "./json-schema.ts";

/** An OpenAPI 3.1 document, as far as the page reads it. */
export interface ReadableDocument {
  info: { title: string; summary: string; description: string };
  paths: Record<string, Json>;
  /** Requests that the service sends, by the name of the event. */
  webhooks?: Record<string, Json>;
  components: { schemas: Json; responses: Json; headers: Json };
}

/** The page's only style sheet, inline, and permitted by its digest. */
const style = `:root{color-scheme:light dark;--edge:#8886;--ink:light-dark(#1a1d21,#e6e8ea);--paper:light-dark(#fff,#14171a);--link:light-dark(#0b57a4,#8ec2f7)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:1rem 1.5rem 4rem;color:var(--ink);background:var(--paper)}
a{color:var(--link)}code,pre{font:14px/1.45 ui-monospace,monospace}
pre{overflow-x:auto;padding:.75rem;border:1px solid var(--edge);border-radius:.4rem}
main{max-width:48rem}section{margin-top:2.5rem}h3{font-size:1.1rem}h3 code{font-size:inherit}h2,h3,code,td{overflow-wrap:anywhere}th code{overflow-wrap:normal}
h2 a,h3 a{color:inherit;text-decoration:none}h2 a:hover,h3 a:hover{text-decoration:underline}
nav ul{list-style:none;margin:0 0 1rem;padding:0}nav p{margin:0;font-weight:600}
table{border-collapse:collapse;width:100%;margin:1rem 0}caption{text-align:left;font-weight:600}
th,td{text-align:left;vertical-align:top;padding:.35rem 1rem .35rem 0;border-bottom:1px solid var(--edge);font-weight:400}
th{min-width:7rem}tr>:last-child{padding-right:0}
@media(min-width:62rem){body{display:grid;grid-template-columns:15rem minmax(0,1fr);column-gap:2.5rem}
nav{position:sticky;top:1rem;align-self:start;max-height:calc(100vh - 2rem);overflow-y:auto}}`;

/** The page's only script: commands name the address at which the reader has the page, behind any stage or base path. */
const script = `const url = location.origin + location.pathname.replace(/\\/docs\\/?$/, "");
for (const one of document.querySelectorAll(".url")) one.textContent = url;`;

const digestOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
/** The Content-Security-Policy of the page. */
export const readersPolicy = `default-src 'none'; style-src ${digestOf(style)}; script-src ${digestOf(script)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A part of the page that has an address of its own. */
interface Section {
  kind: SectionKind;
  name: string;
  /** The title and the content, in HTML. */
  title: string;
  content: string;
}

/**
 * Renders an OpenAPI document as one page that loads nothing else. Each operation, event, error and schema has an anchor:
 * `#operation-createCall`, `#error-Unauthorized`, `#schema-Call`.
 */
export function readersPage(document: ReadableDocument): string {
  const { info, paths, webhooks = {}, components } = document;
  const chapters: [title: string, sections: Section[]][] = [
    ["Operations", operationsIn(paths, components)],
    ["Events that are sent to you", eventsIn(webhooks, components)],
    ["Errors", errorsIn(components)],
    ["Schemas", Object.entries(components.schemas).map(schemaSection)],
  ];
  const shown = chapters.filter(([, sections]) => sections.length > 0);
  const links = shown.map(([title, sections]) => {
    const items = sections.map((one) => `<li>${linkTo(one.kind, one.name, one.title)}</li>`);
    return `<p>${escaped(title)}</p><ul>${items.join("")}</ul>`;
  });
  const body = shown.map(
    ([title, sections]) => `<h2>${escaped(title)}</h2>${sections.map(htmlOf).join("")}`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)}</title><style>${style}</style></head><body><nav aria-label="Contents" tabindex="0">${links.join("")}</nav>
<main><h1>${escaped(info.title)}</h1><p>${escaped(info.summary)} ${escaped(info.description)}</p>
<p>This service is at <code class="url">$URL</code>. Commands below take your token from the shell:</p>
<pre tabindex="0">export TOKEN=…</pre><p><a href="openapi.json">OpenAPI 3.1 document</a></p>${body.join("")}</main>
<script>${script}</script></body></html>`;
}

function htmlOf({ kind, name, title, content }: Section): string {
  const heading = `<h3>${linkTo(kind, name, title)}</h3>`;
  return `<section id="${anchorOf(kind, name)}">${heading}${content}</section>`;
}

function operationsIn(
  paths: ReadableDocument["paths"],
  { responses }: ReadableDocument["components"],
): Section[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const { operationId, summary, description, parameters = [], requestBody } = Object(operation);
      const isOpen = Object(operation).security?.length === 0;
      const body = Object(requestBody?.content["application/json"]);
      const samples: { lang: string; source: string }[] = Object(operation)["x-codeSamples"] ?? [];
      const sample = samples.find(({ lang }) => lang === "sh");
      const command =
        sample === undefined
          ? curlOf(method, path, {
              isOpen,
              parameters,
              body: body.example ?? exampleOf(body.schema),
            })
          : escaped(sample.source);
      const answers = Object.entries(Object(operation).responses);
      const told = [summary, description].filter(Boolean).join(". ");
      const content = [
        `<p>${escaped(told)}</p>`,
        `<pre tabindex="0">${command}</pre>`,
        tableOf("Parameters", parameters.map(parameterRow)),
        bodyOf("Body", body.schema),
        ...answers.map(([, answer]) =>
          bodyOf("Answer", Object(answer).content?.["application/json"]?.schema),
        ),
        tableOf(
          "Statuses",
          answers.map(([status, answer]) => answerRow(status, answer, responses)),
        ),
      ];
      const title = `<code>${method.toUpperCase()} ${escaped(path)}</code>`;
      return { kind: "operation", name: operationId, title, content: content.join("") };
    }),
  );
}

function parameterRow(parameter: unknown): Row {
  const { name, in: place, required = false, description, schema } = Object(parameter);
  return rowOf(name, [`in the ${place}`, typeOf(schema), needOf(required)], description);
}

/** Describes a JSON body: its fields, or the schema that it is. */
function bodyOf(caption: string, schema: unknown): string {
  if (schema === undefined) return "";
  const rows = fieldRows(schema);
  const { $ref, type, description } = Object(schema);
  const isNamed = $ref !== undefined || (type === "array" && rows.length === 0);
  const named = isNamed
    ? `<p>${[`${caption}: ${typeOf(schema)}`, escaped(description ?? "")].filter(Boolean).join(". ")}</p>`
    : "";
  return named + tableOf(caption, rows);
}

function answerRow(status: string, answer: unknown, responses: Json): Row {
  const { $ref, description } = Object(answer);
  if (typeof $ref !== "string") return [escaped(status), escaped(description)];
  const name = nameIn($ref);
  return [linkTo("error", name, escaped(status)), escaped(Object(responses[name]).description)];
}

/** Returns the sections of the requests that the service sends. */
function eventsIn(
  webhooks: Record<string, Json>,
  components: ReadableDocument["components"],
): Section[] {
  const named = (part: unknown) => {
    const { $ref } = Object(part);
    return $ref === undefined ? part : pointedAt($ref, components);
  };
  return Object.entries(webhooks).map(([name, operations]) => {
    const [operation] = Object.values(operations);
    const { summary, description, parameters = [], requestBody, responses } = Object(operation);
    const body = Object(requestBody?.content?.["application/json"]);
    const answers = Object.entries(Object(responses)).map(([status, answer]): Row => {
      return [escaped(status), escaped(Object(named(answer)).description)];
    });
    const told = [summary, description].filter(Boolean).join(". ");
    const content = [
      `<p>${escaped(told)}</p>`,
      body.example === undefined ? "" : `<pre tabindex="0">${jsonOf(body.example)}</pre>`,
      tableOf(
        "Headers",
        parameters.map((one: unknown) => parameterRow(named(one))),
      ),
      bodyOf("Body", body.schema),
      tableOf("Your answer", answers),
    ];
    const title = `<code>${escaped(name)}</code>`;
    return { kind: "event", name, title, content: content.join("") };
  });
}

/** Returns the part of the document's components that a reference such as `#/components/headers/RetryAfter` names. */
function pointedAt($ref: string, components: ReadableDocument["components"]): unknown {
  const [kind = "", name = ""] = $ref.split("/").slice(2);
  return Object(Object(components)[kind])[name];
}

/** Returns the sections of errors by status, each with an example of the whole answer. */
function errorsIn({ responses, headers: named }: ReadableDocument["components"]): Section[] {
  const errors = Object.entries(responses).flatMap(([name, response]) => {
    const { description, headers = {}, content } = Object(response);
    const example = content?.["application/problem+json"]?.example;
    if (example === undefined) return []; // a receiver's answer to an event
    const lines = Object.entries(headers).map(([header, value]) => {
      const { $ref } = Object(value);
      const { schema } = Object($ref === undefined ? value : named[nameIn($ref)]);
      return `${header}: ${schema?.examples?.[0] ?? "…"}`;
    });
    const head = [`HTTP/1.1 ${example.status}`, "Content-Type: application/problem+json", ...lines];
    const text = `${escaped(head.join("\n"))}\n\n${jsonOf(example)}`;
    const told = `<p>${escaped(description)}</p><pre tabindex="0">${text}</pre>`;
    return {
      kind: "error" as const,
      name,
      title: `${escaped(example.status)} ${escaped(example.title)}`,
      content: told,
    };
  });
  return errors.toSorted((one, other) => one.title.localeCompare(other.title));
}

function schemaSection([name, schema]: [string, unknown]): Section {
  const { description } = Object(schema);
  const told = description === undefined ? "" : `<p>${escaped(description)}</p>`;
  const content = told + tableOf("Fields", fieldRows(schema));
  return { kind: "schema", name, title: `<code>${escaped(name)}</code>`, content };
}

const jsonOf = (value: unknown) => escaped(JSON.stringify(value, null, 2));

/** Returns a command that may be pasted into a shell, as HTML. The page's script fills in the service's address. */
function curlOf(
  method: string,
  path: string,
  { isOpen, parameters, body }: { isOpen: boolean; parameters: unknown[]; body: unknown },
): string {
  const id = path.startsWith("/v1/calls/") ? "$CALL_ID" : "$REQUEST_ID";
  const place = escaped(path.replace("{id}", id).replace("{name}", "main"));
  // curl gets without a body, and posts with one.
  const isDefault = method === (body === undefined ? "get" : "post");
  const lines = [
    `curl -i ${isDefault ? "" : `-X ${method.toUpperCase()} `}"<span class="url">$URL</span>${place}"`,
    ...(isOpen ? [] : ['-H "Authorization: Bearer $TOKEN"']),
  ];
  if (body !== undefined) lines.push('-H "Content-Type: application/json"');
  for (const parameter of parameters) {
    const { name, in: where, example } = Object(parameter);
    if (where === "header" && example !== undefined)
      lines.push(`-H "${escaped(name)}: ${escaped(example)}"`);
  }
  if (body !== undefined) lines.push(`-d '${jsonOf(body)}'`);
  return lines.join(" \\\n  ");
}

/** Returns the example of a schema, or that of its first alternative. */
function exampleOf(schema: unknown): unknown {
  const { examples, oneOf } = Object(schema);
  return examples?.[0] ?? Object(oneOf?.[0]).examples?.[0];
}
