import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { transform } from "esbuild";
import { generateApi } from "swagger-typescript-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import publicJson from "#functions/api/generated/served/openapi.json" with { type: "json" };
import operatorJson from "#functions/api/generated/served/operator-openapi.json" with { type: "json" };
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

const { app, queue } = createTestApi();
const documents = { public: publicJson, operator: operatorJson };

describe("the OpenAPI documents", () => {
  it.each(["public", "operator"] as const)(
    "of the %s endpoints have nothing for a linter to say",
    async (name) => {
      const config = await createConfig({ extends: ["recommended-strict"] });
      const source = JSON.stringify(documents[name]);
      const problems = await lintFromString({ source, config });
      expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
    },
  );
});

describe("a client generated from /openapi.json", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it("posts a call and a batch", async () => {
    const input = join(directory, "openapi.json");
    await writeFile(input, await (await app.request("/openapi.json")).text());
    await generateApi({ input, output: directory, fileName: "client.ts", silent: true });
    // It has enums, which Node does not strip.
    const { code } = await transform(await readFile(join(directory, "client.ts"), "utf8"), {
      loader: "ts",
    });
    await writeFile(join(directory, "client.mjs"), code);
    const { Api } = await import(join(directory, "client.mjs"));
    const { v1 } = new Api({
      baseUrl: "https://calls.example.com",
      baseApiParams: { headers: { authorization: `Bearer ${tokens.crm}` } },
      customFetch: async (address: string, init: RequestInit) => app.request(address, init),
    });
    const call = {
      phone_number: "+12025550123",
      agent_id: "agent_sales",
      context: { name: "Ada" },
    };
    const one = await v1.createCall(call, { headers: { "Idempotency-Key": "one" } });
    const batch = await v1.createCalls([call, call]);
    expect([one.status, batch.status]).toEqual([201, 201]);
    expect(queue.take()).toHaveLength(2);
    const wrong = v1.createCall({ phone_number: "555", agent_id: "agent_sales" });
    await expect(wrong).rejects.toMatchObject({ status: 422 });
  });
});
