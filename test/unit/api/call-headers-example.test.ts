import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

it("takes the example of docs/api.md with Call-Not-Before and Call-Priority", async () => {
  const docs = await readFile(join(import.meta.dirname, "../../../docs/api.md"), "utf8");
  const [, example = ""] = /(curl -i [^`]*Call-Not-Before[^`]*)```/.exec(docs) ?? [];
  const pairs = [...example.matchAll(/-H "([\w-]+): ([^"]+)"/g)];
  const headers = new Headers(pairs.map(([, name = "", value = ""]) => [name, value]));
  headers.set("authorization", `Bearer ${tokens.crm}`);
  const [, body = ""] = /-d '([^']+)'/.exec(example) ?? [];
  const { app, queue } = createTestApi();
  const { status } = await app.request("/v1/calls", { method: "POST", headers, body });
  expect(status).toBe(201);
  const [sent] = await Promise.all(queue.take().map((one) => one.open()));
  expect(messageSchema.parse(JSON.parse(sent ?? ""))).toMatchObject({
    notBefore: Date.UTC(2026, 10, 21, 14),
    urgent: true,
  });
});
