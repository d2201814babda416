import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import page from "../../functions/api/generated/console.json" with { type: "json" };

describe("the operator's page", () => {
  it("is under 60 kB gzip in all, and asks no other host for anything", () => {
    const parts = [page.html, page.script, page.style];
    const bytes = parts.reduce((sum, part) => sum + gzipSync(part).byteLength, 0);
    expect(bytes).toBeLessThan(60_000);
    expect(page.html + page.style).not.toMatch(/https?:|@import/);
    expect(page.html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/);
    expect(page.policy).toMatch(/^default-src 'none'/);
    expect(page.policy).not.toMatch(/unsafe|\*|https?:/);
  });
});
