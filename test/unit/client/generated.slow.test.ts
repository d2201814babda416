import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("has the operations and types of the OpenAPI document that the service serves", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outbound-calls-client-"));
  const output = join(folder, "openapi.ts");
  await promisify(execFile)(process.execPath, ["infra/client/generate.ts", "--output", output]);
  const committed = "infra/client/generated/openapi.ts";
  const [made, kept] = await Promise.all([output, committed].map((path) => readFile(path, "utf8")));
  await rm(folder, { recursive: true });
  expect(made === kept, `${committed} differs: run npm run client, and commit it`).toBe(true);
});
