import { zValidator } from "@hono/zod-validator";
import { Hono } from "hono";
import { batchSchema, singleSchema } from "../../shared/call.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import { errorForLog, type Log } from "../../shared/log.ts";
import type { CallQueue } from "../../shared/queue/call-queue.ts";
import type { ApiSettings, Settings } from "../../shared/settings.ts";
import type { Caller } from "../../shared/tokens.ts";
import { authenticate } from "./authenticate.ts";
import documents from "./documents.json" with { type: "json" };
import { createCalls } from "./create-calls.ts";
import { createOperator } from "./operator.ts";
import page from "./page.json" with { type: "json" };
import { errorsOf, problem, unprocessable } from "./problem.ts";
import { readJson } from "./read-json.ts";

/** Largest body of one call: a context of 32 KiB, escaped at its worst, and the rest. */
const callBytesMax = 64 * 1024;
/** Largest body of a batch: what passes API Gateway and Lambda (6 MB) as base64. */
const batchBytesMax = 4 * 1024 * 1024;

const pageHeaders = {
  "content-security-policy": page.policy,
  "cache-control": "no-cache",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export interface ApiDeps {
  queue: CallQueue;
  /** Made by the first request that needs it. */
  ledger(): Promise<CallLedger>;
  settings: Settings<ApiSettings>;
  callerOf(token: string, now: number): Caller | undefined;
  /** Whose an operator's token is; absent, there is no operator. */
  operatorOf?: ((token: string, now: number) => Caller | undefined) | undefined;
  clock: { now(): number };
  /** Random, 32 hex digits. */
  randomId(): string;
  log: Log;
}

/** What a request's handlers know of it. */
export interface ApiEnv {
  Variables: { requestId: string; caller: Caller; body: Uint8Array };
}

/**
 * The API. `POST /v1/calls` takes a call, `POST /v1/calls/batch` an array of them; both answer 201 without a
 * body, or 401, 422 or 5XX in problem+json. Whatever is answered 201 is on the queue.
 *
 * @example
 * const app = createApp({ queue: createMemoryQueue(Date.now), ledger: createMemoryLedger(), … });
 * const { status } = await app.request("/v1/calls", { method: "POST", headers, body });
 */
export function createApp(deps: ApiDeps) {
  const app = new Hono<ApiEnv>();

  app.use(async (c, next) => {
    const requestId = `req_${deps.randomId()}`;
    c.set("requestId", requestId);
    c.header("x-request-id", requestId);
    await next();
  });

  const authenticated = authenticate((token) => deps.callerOf(token, deps.clock.now()));
  app.post(
    "/v1/calls",
    authenticated,
    readJson(callBytesMax),
    zValidator("json", singleSchema, (result, c) => {
      if (!result.success) return unprocessable(c, errorsOf(result.error.issues));
    }),
    (c) => createCalls(c, deps, c.req.valid("json")),
  );
  app.post(
    "/v1/calls/batch",
    authenticated,
    readJson(batchBytesMax),
    zValidator("json", batchSchema, (result, c) => {
      if (!result.success) return unprocessable(c, errorsOf(result.error.issues));
    }),
    (c) => createCalls(c, deps, c.req.valid("json")),
  );
  for (const path of ["/v1/calls", "/v1/calls/batch"]) {
    app.all(path, (c) =>
      problem(c, 405, "Only POST is known here.", { headers: { allow: "POST" } }),
    );
  }
  if (deps.operatorOf !== undefined) {
    // The page holds no secret; what it shows, it asks for with a token.
    const part = (path: string, type: string, body: string) =>
      app.get(path, (c) => c.body(body, 200, { "content-type": type, ...pageHeaders }));
    part("/operator", "text/html; charset=utf-8", page.html);
    part("/operator/page.js", "text/javascript; charset=utf-8", page.script);
    part("/operator/page.css", "text/css; charset=utf-8", page.style);
    app.route("/operator", createOperator(deps, deps.operatorOf));
  }
  app.get("/openapi.json", (c) => c.json(documents.public));
  app.get("/docs", (c) => {
    c.header("content-security-policy", documents.pagePolicy);
    return c.html(documents.page);
  });
  app.get("/healthz", (c) => c.text("ok\n"));
  app.notFound((c) => problem(c, 404, "Calls are posted to /v1/calls or /v1/calls/batch."));
  app.onError((error, c) => {
    deps.log("alarm", "api.failed", { request_id: c.get("requestId"), error: errorForLog(error) });
    return problem(c, 500, "The service failed. Its log has the request id.");
  });
  return app;
}
