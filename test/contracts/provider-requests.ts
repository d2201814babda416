import { expect, it } from "vitest";
import { Withheld } from "#shared/lib/http-client.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { aCall } from "../support/calls.ts";
import type { ProviderBench } from "./provider-bench.ts";

/** Describes what an adapter sends. */
export function describeRequests(bench: ProviderBench): void {
  const { provider, dial, routeAt, expectRequests, requestsMax } = bench;

  it("sends the request that rings the phone last, and only after the last look", async () => {
    const { error, looks, received } = await bench.dialWithheld();
    expect(error).toBeInstanceOf(Withheld);
    expect(looks).toBe(1);
    expect(received).toHaveLength(requestsMax - 1);
  });

  it("makes the requests that the reference has, and no other", async () => {
    const call = aCall({ request: { ...aCall().request, context: {} } });
    const { received } = await dial((_request, response) => response.end("{}"), call);
    expectRequests(received, provider.requests(call));
  });

  const awkward = `"quotes" 'and' \n\r\t </Stream>&amp; 😀 \u2028`;
  it.each<[string, Record<string, string>]>([
    ["quotes, line breaks, tags and emoji", { awkward, "key </Stream> 😀": "x" }],
    ["U+0000", { awkward: "a\u0000b" }],
    ["32 KiB", { awkward, long: "ü".repeat(15_000) }],
  ])(
    "carries a context with %s whole, or says at acceptance that it cannot",
    async (_, context) => {
      const call = aCall({ request: { ...aCall().request, context } });
      const problem = routeKinds.contextProblem(call.request, routeAt("https://example.com"));
      if (problem !== undefined) {
        expect(problem).toMatch(/^(must|is too)/);
        return;
      }
      const { received } = await dial((_request, response) => response.end("{}"), call);
      expectRequests(received, provider.requests(call));
    },
  );

  it("puts neither number nor context into an address or a header", async () => {
    const { received } = await dial((_request, response) => response.end("{}"));
    const places = received.map(({ path, headers }) => [path, headers]);
    expect(places).toHaveLength(requestsMax);
    expect(JSON.stringify(places)).not.toMatch(/2025550123|Zo(ë|%C3%AB)/);
  });
}
