import { expect, it } from "vitest";
import { judgeAdvisory } from "#infra/cli/advisories.ts";

const id = "GHSA-2345-6789-cfgh";
const url = `https://github.com/advisories/${id}`;
const because = "The part of it that is vulnerable is never called.";

it.each([
  ["critical", [], true],
  ["high", [], true],
  ["moderate", [], false],
  ["high", [{ advisory: id, because, until: "2026-11-28" }], false],
  ["high", [{ advisory: id, because, until: "2026-11-27" }], false],
  ["high", [{ advisory: id, because, until: "2026-11-26" }], true],
  ["high", [{ advisory: "GHSA-xxxx-xxxx-xxxx", because, until: "2999-01-01" }], true],
] as const)("an advisory that is %s, with the exceptions %j, is refused: %s", (...of) => {
  const [severity, exceptions, isRefused] = of;
  const advisory = { name: "hono", title: "A hole", url, severity };
  const judged = judgeAdvisory(advisory, [...exceptions], "2026-11-27");
  expect(judged.isRefused).toBe(isRefused);
  expect(judged.line).toContain(`${severity}: hono, A hole (${url})`);
  expect(judged.line.includes(because)).toBe(exceptions.length > 0 && !isRefused);
});
