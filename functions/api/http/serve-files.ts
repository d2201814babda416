import type { Context, Hono } from "hono";
import type { ApiDeps, ApiEnv, ServedFile } from "./context.ts";
import { refuseOtherMethods } from "./base-app.ts";
import etags from "../generated/served-etags.json" with { type: "json" };
import docsPolicy from "../generated/docs-policy.json" with { type: "json" };

/** Files of the operator's console by path, with name and media type. */
const consoleFiles = {
  "/operator": ["page.html", "text/html; charset=utf-8"],
  "/operator/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/operator/views.js": ["views.js", "text/javascript; charset=utf-8"],
  "/operator/shared.js": ["shared.js", "text/javascript; charset=utf-8"],
  "/operator/leads.js": ["leads.js", "text/javascript; charset=utf-8"],
  "/operator/page.css": ["page.css", "text/css; charset=utf-8"],
} as const satisfies Record<string, readonly [ServedFile, string]>;

/** Forbids foreign sources, inline code and framing. */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const consoleHeaders = {
  "content-security-policy": consolePolicy,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

type Read = ApiDeps["readServed"];

/**
 * Serves the operator's console, with the same headers on every platform. The page contains no secret, as it requests
 * all data with a token.
 */
export function serveConsole(app: Hono<ApiEnv>, read: Read): void {
  for (const [path, [name, type]] of Object.entries(consoleFiles)) {
    const headers = { "content-type": type, ...consoleHeaders };
    app.get(path, (c) => answerFile(c, { name, headers }, read));
    refuseOtherMethods(app, path, ["get"]);
  }
}

/** Serves the OpenAPI document of the public endpoints, and a page that shows it. */
export function serveDocuments(app: Hono<ApiEnv>, read: Read): void {
  const document = { name: "openapi.json", headers: jsonHeaders } as const;
  app.get("/openapi.json", (c) => answerFile(c, document, read));
  const headers = {
    "content-type": "text/html; charset=UTF-8",
    "content-security-policy": docsPolicy,
  };
  app.get("/docs", (c) => answerFile(c, { name: "docs.html", headers }, read));
  for (const path of ["/openapi.json", "/docs"]) refuseOtherMethods(app, path, ["get"]);
}

/** Serves the OpenAPI document of the operator's API, behind the app's authentication. */
export function serveOperatorDocument(operator: Hono<ApiEnv>, read: Read): void {
  const headers = { ...jsonHeaders, "cache-control": "private, no-cache" };
  operator.get("/openapi.json", (c) =>
    answerFile(c, { name: "operator-openapi.json", headers }, read),
  );
  refuseOtherMethods(operator, "/openapi.json", ["get"]);
}

const jsonHeaders = { "content-type": "application/json" };

/**
 * Answers with a file, or with 304 if the requester has it. Caches ask each time, so that a deployment is visible at
 * once; the answer then has a few bytes.
 */
async function answerFile(
  c: Context<ApiEnv>,
  { name, headers }: { name: ServedFile; headers: Record<string, string> },
  read: Read,
): Promise<Response> {
  const all = { "cache-control": "no-cache", ...headers, etag: etags[name] };
  if (isKnown(c.req.header("if-none-match"), etags[name])) return c.body(null, 304, all);
  return c.body(await read(name), 200, all);
}

/** True if `If-None-Match` has the tag, by the weak comparison of RFC 9110, 13.1.2: a proxy that compresses makes it weak. */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = header?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes("*") || tags.includes(etag);
}
