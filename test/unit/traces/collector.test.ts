import { describe, expect, it } from "vitest";
import { createCollector } from "#shared/traces/collector.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { freePort } from "#test/support/service.ts";

const minuteMs = 60_000;

/** Creates a collector under a clock that the test moves, and counts its requests. */
function create(endpoint: string, headers?: string, send: typeof fetch = fetch) {
  const clock = { at: 0 };
  const counted = { requests: 0 };
  const collector = createCollector({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers },
    fetch(url, request) {
      counted.requests += 1;
      return send(url, request);
    },
    now: () => clock.at,
  });
  return { collector, clock, counted };
}

describe("a collector", () => {
  it.each([
    ["", "/v1/traces"],
    ["/", "/v1/traces"],
    ["/otlp/", "/otlp/v1/traces"],
  ])("is posted to below its base URL %s", async (base, path) => {
    const receiver = await startTestReceiver((_request, response) => response.end("{}"));
    const { collector } = create(receiver.url + base);
    expect(await collector.post("traces", '{"resourceSpans":[]}')).toBeUndefined();
    expect(await collector.post("metrics", '{"resourceMetrics":[]}')).toBeUndefined();
    expect(receiver.received).toMatchObject([
      {
        method: "POST",
        path,
        text: '{"resourceSpans":[]}',
        headers: { "content-type": "application/json" },
      },
      { path: path.replace("traces", "metrics") },
    ]);
  });

  it("gets the headers that its secret has, decoded", async () => {
    const receiver = await startTestReceiver((_request, response) => response.end());
    const headers = "Authorization=Basic%20dXNl+jpwYXNz==, x-scope=a%2Cb=c&d,";
    await create(receiver.url, headers).collector.post("traces", "{}");
    expect(receiver.received[0]?.headers).toMatchObject({
      authorization: "Basic dXNl+jpwYXNz==",
      "x-scope": "a,b=c&d",
    });
  });

  it.each([
    ["no URL", undefined, undefined, "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"],
    [
      "plain http",
      "http://collector.example.com",
      undefined,
      "OTEL_EXPORTER_OTLP_ENDPOINT must be",
    ],
    ["a query", "https://a.example/?token=se", undefined, "must not have a query"],
    ["a user", "https://me:se@a.example", undefined, "must not hold a user"],
    ["no pair", "https://a.example", "se", "OTEL_EXPORTER_OTLP_HEADERS must be name=value"],
    ["a wrong name", "https://a.example", "a b=se", "OTEL_EXPORTER_OTLP_HEADERS must be"],
    ["no value", "https://a.example", "a=", "OTEL_EXPORTER_OTLP_HEADERS must be"],
    ["a line's end", "https://a.example", "a=se%0d%0ab", "OTEL_EXPORTER_OTLP_HEADERS must be"],
    ["no ASCII", "https://a.example", "a=se%E2%82%AC", "OTEL_EXPORTER_OTLP_HEADERS must be"],
  ])("is refused with %s, without a value in the problem", (_what, endpoint, headers, problem) => {
    const make = () => create(endpoint ?? "", headers);
    expect(make).toThrow(problem);
    expect(make).not.toThrow(/se[%\W]|=se/);
  });

  it("follows no redirect", async () => {
    const other = await startTestReceiver((_request, response) => response.end());
    const receiver = await startTestReceiver((_request, response) =>
      response.writeHead(307, { location: other.url }).end(),
    );
    const { collector } = create(receiver.url);
    expect(await collector.post("traces", "{}")).toBe("http_307");
    expect(other.received).toEqual([]);
  });

  it("is left alone for a minute after each failure, by however many deliveries", async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const { collector, clock, counted } = create(dead);
    expect(await collector.post("traces", "{}")).toBe("TypeError");
    for (let n = 0; n < 1_000; n++) expect(await collector.post("traces", "{}")).toBeUndefined();
    expect(counted.requests).toBe(1);
    clock.at += minuteMs;
    // One tries again, and the others do not wait for it.
    const posted = await Promise.all(
      Array.from({ length: 50 }, () => collector.post("metrics", "{}")),
    );
    expect(posted.filter((failed) => failed === undefined)).toHaveLength(49);
    expect(counted.requests).toBe(2);
  });

  it("times out after a second, and is used again once it answers", async () => {
    const asked: AbortSignal[] = [];
    const hang: typeof fetch = (_url, request) =>
      new Promise((_resolve, reject) => {
        const { signal } = request ?? {};
        if (signal) asked.push(signal);
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
    let send: typeof fetch = hang;
    const { collector, clock, counted } = create("https://a.example", undefined, (url, request) =>
      send(url, request),
    );
    expect(await collector.post("traces", "{}")).toBe("TimeoutError");
    expect(asked[0]?.aborted).toBe(true);
    send = async () => new Response("{}");
    clock.at += minuteMs;
    expect(await collector.post("traces", "{}")).toBeUndefined();
    expect(await collector.post("traces", "{}")).toBeUndefined();
    expect(counted.requests).toBe(3);
  });
});
