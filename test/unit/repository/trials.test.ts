import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { callRequestSchema, isPlainCall } from "#shared/calls/call-request.ts";

const root = resolve(import.meta.dirname, "../../..");
const textOf = (file: string) => readFile(resolve(root, file), "utf8");

// Small things that surprised people who tried the service. Each is refused, or stands on the page where they looked.
describe("what surprised somebody in a trial", () => {
  const call = { phone_number: "+12025550123", agent_id: "agent_sales" };

  it("an agent_id of one space is accepted under `*`, as api.md says", async () => {
    const spaced = { ...call, agent_id: " " };
    expect([isPlainCall(spaced), callRequestSchema.safeParse(spaced).success]).toEqual([
      true,
      true,
    ]);
    expect(await textOf("docs/api.md")).toContain("1 to 128 printable characters or spaces");
  });

  it("a context with NUL is accepted, as api.md says", async () => {
    const withNul = { ...call, context: { note: "a\u0000b" } };
    expect(callRequestSchema.parse(withNul)).toEqual(withNul);
    expect(await textOf("docs/api.md")).toContain("control characters included");
  });

  it("sandbox.md says that --install is for a deployed service, and where a local run has its token", async () => {
    expect(await textOf("docs/sandbox.md")).toContain(
      "`--install` adds the token to a deployed service; `npm start` prints one.",
    );
  });

  it("the README installs once, and no block repeats it under a running service", async () => {
    const blocks = [...(await textOf("README.md")).matchAll(/```\w*\n([^]*?)```/g)];
    const installing = blocks.filter(([, block = ""]) => block.includes("npm ci"));
    expect(installing).toHaveLength(1);
    expect(await textOf("docs/quickstart.md")).toContain(
      "Do not run `npm ci` while the service runs.",
    );
  });

  it("mcp.md says that the two steps of place_call ask no person", async () => {
    expect(await textOf("docs/mcp.md")).toContain("**The two steps do not ask a person**");
  });
});
