import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("has the operations and types of the OpenAPI documents that the service serves", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outbound-calls-client-"));
  await promisify(execFile)(process.execPath, ["infra/client/generate.ts", "--output", folder]);
  for (const committed of [
    "infra/client/generated/openapi.ts",
    "shared/answers/generated/operator-openapi.ts",
  ]) {
    const paths = [join(folder, basename(committed)), committed];
    const [made, kept] = await Promise.all(paths.map((path) => readFile(path, "utf8")));
    expect(made === kept, `${committed} differs: run npm run client, and commit it`).toBe(true);
  }
  await rm(folder, { recursive: true });
});
