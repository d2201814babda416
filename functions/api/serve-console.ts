import type { Hono } from "hono";
import type { ApiDeps, ApiEnv, ConsoleFile } from "./context.ts";

/** Files of the operator's console, by their paths: the name of each, and its media type. */
const files = {
  "/operator": ["page.html", "text/html; charset=utf-8"],
  "/operator/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/operator/page.css": ["page.css", "text/css; charset=utf-8"],
} as const satisfies Record<string, readonly [ConsoleFile, string]>;

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

const headers = {
  "content-security-policy": consolePolicy,
  "cache-control": "no-cache",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Serves the operator's console, under the same headers on every platform. Its page holds no secret: it requests all
 * data with a token.
 */
export function serveConsole(app: Hono<ApiEnv>, readConsole: ApiDeps["readConsole"]): void {
  for (const [path, [name, type]] of Object.entries(files)) {
    app.get(path, async (c) =>
      c.body(await readConsole(name), 200, { "content-type": type, ...headers }),
    );
  }
}
