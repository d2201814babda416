import * as z from "#shared/lib/zod.ts";
import { parseJson, wrangler } from "./cloudflare-wrangler.ts";
import { DeployError, type Tools } from "./tools.ts";

/** A queue as it stands. */
export interface StandingQueue {
  retentionSeconds: number;
  isPaused: boolean;
  /** Names of the Workers that consume it; `http_pull` for a consumer that is none. */
  consumers: string[];
}

/** A way into Cloudflare's API, for what wrangler does not print. */
export interface CloudflareApi {
  account: string;
  headers: Record<string, string>;
}

const answerMsMax = 30_000;
const credentialsSchema = z.object({
  token: z.optional(z.string()),
  key: z.optional(z.string()),
  email: z.optional(z.string()),
});

/** Opens Cloudflare's API with wrangler's own login. @throws DeployError without one */
export async function openApi(tools: Tools, account: string): Promise<CloudflareApi> {
  const said = await wrangler(tools, ["auth", "token", "--json"]);
  const { token, key, email } = parseJson(credentialsSchema, said) ?? {};
  if (token !== undefined) return { account, headers: { Authorization: `Bearer ${token}` } };
  if (key !== undefined && email !== undefined) {
    return { account, headers: { "X-Auth-Key": key, "X-Auth-Email": email } };
  }
  throw new DeployError("wrangler auth token names no credentials: run npx wrangler login.");
}

const queuesSchema = z.object({
  success: z.boolean(),
  errors: z._default(z.array(z.object({ code: z.number(), message: z.string() })), []),
  result: z.nullable(
    z.array(
      z.object({
        queue_name: z.string(),
        settings: z.object({
          delivery_paused: z._default(z.boolean(), false),
          message_retention_period: z.number(),
        }),
        consumers: z._default(
          z.array(
            z.object({
              type: z.string(),
              // The name of a Worker stands in the one field or the other, as wrangler reads it.
              script: z.optional(z.string()),
              service: z.optional(z.string()),
            }),
          ),
          [],
        ),
      }),
    ),
  ),
});

/** Reads a queue; undefined: there is none of this name. @throws DeployError with the answer of Cloudflare's API */
export async function readQueue(
  { environment, fetch }: Pick<Tools, "environment" | "fetch">,
  { account, headers }: CloudflareApi,
  name: string,
): Promise<StandingQueue | undefined> {
  const base = environment["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4";
  const url = `${base}/accounts/${account}/queues?${String(new URLSearchParams({ page: "1", name }))}`;
  const text = await fetch(url, { headers, signal: AbortSignal.timeout(answerMsMax) }).then(
    (answer) => answer.text(),
    (error: unknown) => {
      throw new DeployError(
        `Cloudflare's API did not answer (${error instanceof Error ? error.name : "no answer"}). Run this again.`,
      );
    },
  );
  const { success = false, errors = [], result } = parseJson(queuesSchema, text) ?? {};
  if (!success) {
    const [error] = errors;
    throw new DeployError(
      `Cloudflare's API does not list the queues: ${error === undefined ? "unreadable answer" : `${error.message} [code: ${error.code}]`}. ` +
        "The API token needs the right Queues Edit: docs/examples/deploy-cloudflare.yml.",
    );
  }
  const queue = result?.find(({ queue_name }) => queue_name === name);
  return (
    queue && {
      retentionSeconds: queue.settings.message_retention_period,
      isPaused: queue.settings.delivery_paused,
      consumers: queue.consumers.map(({ type, script, service }) => script ?? service ?? type),
    }
  );
}
