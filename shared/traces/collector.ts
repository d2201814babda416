/**
 * An OpenTelemetry collector, to which traces and metrics are posted as JSON by OTLP/HTTP. Its settings are those of
 * OpenTelemetry: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
import { minuteMs } from "../lib/units.ts";
import type { Send } from "../lib/http-client.ts";
import { readBaseUrl } from "../lib/https-url.ts";
import { endpointVariable, headersVariable } from "./variables.ts";

/** Kind of what is posted: the last part of its path. */
export type Signal = "traces" | "metrics";

export interface Collector {
  /**
   * Posts once, within a second, unless the collector has lately failed. What is not taken is dropped. Never throws.
   *
   * @returns a code if it was posted and not taken
   */
  post(signal: Signal, json: string): Promise<string | undefined>;
}

/** Time limit of a request. Whoever posts waits for it, and with him the acknowledgement of his messages. */
const limitMs = 1_000;
/** Time after a failure in which a process posts nothing: so a dead collector costs a process a second a minute. */
const pauseMs = minuteMs;

/**
 * Creates a collector of the endpoint that the environment names.
 *
 * @throws an Error that names the variable that is missing or malformed, and quotes no value
 */
export function createCollector({
  environment,
  fetch: send,
  now,
}: {
  environment: Record<string, string | undefined>;
  fetch: Send;
  now(): number;
}): Collector {
  const base = readBaseUrl(endpointVariable, environment[endpointVariable]);
  const headers = {
    ...readHeaders(environment[headersVariable]),
    "content-type": "application/json",
  };
  /** End of the pause after the last failure. 0: the last request was taken. */
  let pausedUntil = 0;
  return {
    async post(signal, json) {
      if (now() < pausedUntil) return undefined;
      // While one request tries a collector that has failed, no other waits for it.
      if (pausedUntil > 0) pausedUntil = now() + pauseMs;
      const failed = await postOnce(`${base}/v1/${signal}`, { headers, body: json }, send);
      pausedUntil = failed === undefined ? 0 : now() + pauseMs;
      return failed;
    },
  };
}

/** Posts once. Returns a code if it was not taken. */
async function postOnce(
  url: string,
  request: { headers: Record<string, string>; body: string },
  send: Send,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(limitMs);
  try {
    const answer = await send(url, { method: "POST", ...request, redirect: "manual", signal });
    await answer.body?.cancel();
    return answer.ok ? undefined : `http_${answer.status}`;
  } catch (error) {
    return error instanceof Error ? error.name : "Error";
  }
}

/** Reads `name=value,name=value`, whose other characters are percent-encoded, as W3C Baggage has it without properties. */
function readHeaders(text = ""): Record<string, string> {
  const pairs = text.replace(/[&+]/g, encodeURIComponent).split(",");
  const entries = [...new URLSearchParams(pairs.map((pair) => pair.trim()).join("&"))];
  try {
    if (entries.every(([, value]) => value !== "")) return Object.fromEntries(new Headers(entries));
  } catch {
    // A name or a value that no header may have.
  }
  throw new Error(`${headersVariable} must be name=value,name=value, percent-encoded`);
}
