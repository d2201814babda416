import type { Hono } from "hono";
import type { ApiDeps, ApiEnv, ServedFile } from "./context.ts";
import { refuseOtherMethods } from "./base-app.ts";
import docsPolicy from "../generated/docs-policy.json" with { type: "json" };

/** Files of the operator's console by path, with name and media type. */
const consoleFiles = {
  "/operator": ["page.html", "text/html; charset=utf-8"],
  "/operator/page.js": ["page.js", "text/javascript; charset=utf-8"],
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
  "cache-control": "no-cache",
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
    app.get(path, async (c) =>
      c.body(await read(name), 200, { "content-type": type, ...consoleHeaders }),
    );
    refuseOtherMethods(app, path, ["get"]);
  }
}

/** Serves the OpenAPI document of the public endpoints, and a page that shows it. */
export function serveDocuments(app: Hono<ApiEnv>, read: Read): void {
  app.get("/openapi.json", async (c) => c.body(await read("openapi.json"), 200, jsonHeaders));
  app.get("/docs", async (c) =>
    c.body(await read("docs.html"), 200, {
      "content-type": "text/html; charset=UTF-8",
      "content-security-policy": docsPolicy,
    }),
  );
  for (const path of ["/openapi.json", "/docs"]) refuseOtherMethods(app, path, ["get"]);
}

/** Serves the OpenAPI document of the operator's API, behind the app's authentication. */
export function serveOperatorDocument(operator: Hono<ApiEnv>, read: Read): void {
  operator.get("/openapi.json", async (c) =>
    c.body(await read("operator-openapi.json"), 200, jsonHeaders),
  );
  refuseOtherMethods(operator, "/openapi.json", ["get"]);
}

const jsonHeaders = { "content-type": "application/json" };
