import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
import { subrequestsMax } from "#shared/cloudflare/invocation.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (config: string) => readRawConfig({ config: resolve(root, config) }).rawConfig;
const configs = { api: read("wrangler.toml"), dialer: read("functions/dialer/wrangler.toml") };
const both = Object.entries(configs);

describe("the settings of the Workers state what a promise rests on, whatever Cloudflare's default is:", () => {
  it.each(both)("no version of the %s but the deployed one has an address", (_, config) => {
    // A version keeps the secrets of its time: a revoked token would work at its address.
    expect(config.preview_urls).toBe(false);
  });

  it("only the API has an address", () => {
    expect([configs.api.workers_dev, configs.dialer.workers_dev]).toEqual([true, false]);
  });

  it.each(both)("nothing of the %s's log is lost, and it goes nowhere else", (_, config) => {
    const { observability, logpush, tail_consumers: tails } = config;
    expect({ observability, logpush, tails }).toEqual({
      logpush: false,
      tails: [],
      observability: {
        enabled: true,
        head_sampling_rate: 1, // an alarm is one line
        redact_query_string: true,
        issues: { enabled: true },
        logs: {
          enabled: true,
          head_sampling_rate: 1,
          persist: true,
          destinations: [],
          invocation_logs: false, // it has the path
        },
        traces: { enabled: false },
      },
    });
  });

  it("a delivery has five minutes of CPU, a request half a minute, and each 10,000 subrequests", () => {
    expect([configs.api.limits, configs.dialer.limits]).toEqual([
      { cpu_ms: 30_000, subrequests: 10_000 },
      { cpu_ms: 300_000, subrequests: 10_000 },
    ]);
    expect(subrequestsMax).toBe(10_000);
  });
});

describe("the settings of the Workers also state", () => {
  it("that the dialer's requests to clients' receivers pass no firewall by", () => {
    const flagsOf = ({ compatibility_flags: flags }: typeof configs.api) => flags;
    expect([flagsOf(configs.api), flagsOf(configs.dialer)]).toEqual([
      [],
      ["global_fetch_strictly_public"],
    ]);
    expect(configs.api.compatibility_date).toBe(configs.dialer.compatibility_date);
  });

  it("that the API is asked for each file first, and answers for paths without one", () => {
    expect(configs.api.assets).toEqual({
      directory: "functions/api/generated/served",
      binding: "ASSETS",
      html_handling: "none",
      not_found_handling: "none",
      run_worker_first: true,
    });
  });

  it("that messages are delivered at once, and a hundred times", () => {
    // A producer's `delivery_delay` has no effect in this version of wrangler: a queue's own is 0.
    for (const [, { queues }] of both) {
      for (const producer of queues?.producers ?? [])
        expect(producer.delivery_delay).toBe(undefined);
    }
    // The API takes one delivery of dead letters at a time, beside clients' requests: Cloudflare would run 250 at once.
    const dead = { max_batch_size: 10, max_batch_timeout: 5, max_concurrency: 1, retry_delay: 900 };
    expect(configs.api.queues?.consumers).toEqual([
      { queue: "outbound-calls-dead", max_retries: 100, ...dead },
      { queue: "outbound-calls-events-dead", max_retries: 100, ...dead },
    ]);
    const retried = { max_retries: 100, retry_delay: 300 };
    expect(configs.dialer.queues?.consumers).toEqual([
      {
        queue: "outbound-calls",
        max_batch_size: 1,
        max_batch_timeout: 0,
        max_concurrency: 50,
        dead_letter_queue: "outbound-calls-dead",
        ...retried,
      },
      {
        queue: "outbound-calls-events",
        max_batch_size: 10,
        max_batch_timeout: 1,
        max_concurrency: 20,
        dead_letter_queue: "outbound-calls-events-dead",
        ...retried,
      },
    ]);
  });

  it.each(both)(
    "that the %s runs where its caller is, and takes no variable from the dashboard",
    (_, config) => {
      expect(config.placement).toEqual({ mode: "off" });
      expect(config.keep_vars).toBe(false);
    },
  );
});
