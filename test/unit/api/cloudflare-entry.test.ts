import { expect, it } from "vitest";
import api, { type ApiWorkerEnv } from "#functions/api/cloudflare.ts";

/** Asks the Worker without bindings. Resolves to the status, and the number of answers that outlive their client. */
async function ask(method: string, path: string): Promise<{ status: number; kept: number }> {
  const kept: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };
  // oxlint-disable typescript/no-unsafe-type-assertion -- what is refused before it reaches a binding needs none
  const request = new Request<unknown, IncomingRequestCfProperties>(`https://api.example${path}`, {
    method,
  });
  const { status } = await api.fetch(request, {} as ApiWorkerEnv, context as ExecutionContext);
  // oxlint-enable typescript/no-unsafe-type-assertion
  await Promise.all(kept);
  return { status, kept: kept.length };
}

it("completes a request whose client hangs up, unless it only reads", async () => {
  expect(await ask("POST", "/v1/calls")).toEqual({ status: 401, kept: 1 });
  expect(await ask("GET", "/healthz")).toEqual({ status: 200, kept: 0 });
});
