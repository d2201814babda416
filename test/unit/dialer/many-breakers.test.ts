import { expect, it } from "vitest";
import { createBreakersBench, openBreaker, own, putDue } from "#test/support/breakers-bench.ts";
import { idsDispatched } from "#test/support/dialer-calls.ts";

it("a dispatcher heeds a breaker behind five thousand others", async () => {
  const bench = createBreakersBench();
  await putDue(bench, 1);
  await openBreaker(bench, own, { probeAt: bench.now() + 60_000 });
  const { documents } = bench;
  bench.breakDocuments({
    async list(kind, page) {
      if (kind !== "breaker" || page.after !== undefined) return documents.list(kind, page);
      const some = await documents.list(kind, { limit: 1 });
      const others = Array.from({ length: 5_000 }, (_, index) => `["${index}"]`);
      return some.flatMap((one) => others.map((key) => ({ ...one, key })));
    },
  });
  await bench.dispatch();
  expect(idsDispatched(bench)).toEqual([]);
});
