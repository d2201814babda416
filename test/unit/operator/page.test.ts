import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { consolePolicy } from "../../../functions/api/http/serve-files.ts";
import { createTestApi, readServed } from "../../support/api.ts";
import { apiEnvironment } from "../../support/environment.ts";

const names = ["page.html", "page.js", "page.css"] as const;

describe("the operator's page", () => {
  it("is under 60 kB gzip in all, and asks no other host for anything", async () => {
    const [html = "", script = "", style = ""] = await Promise.all(
      names.map(async (name) => new Response(await readServed(name)).text()),
    );
    const bytes = [html, script, style].reduce((sum, text) => sum + gzipSync(text).byteLength, 0);
    expect(bytes).toBeLessThan(60_000);
    expect(bytes).toBeGreaterThan(5_000); // the files are the page's
    expect(html + style).not.toMatch(/https?:|@import/);
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/);
    expect(consolePolicy).toMatch(/^default-src 'none'/);
    expect(consolePolicy).not.toMatch(/unsafe|\*|https?:/);
  });

  it("loads the reader of leads from a file of its own, of under 60 kB gzip", async () => {
    const [script, reader] = await Promise.all(
      (["page.js", "leads.js"] as const).map(async (name) =>
        new Response(await readServed(name)).text(),
      ),
    );
    expect(script).toMatch(/import\("\.\/leads\.js"\)/);
    expect(gzipSync(reader ?? "").byteLength).toBeLessThan(60_000);
    expect(reader).toContain("phone number: ");
    expect(script).not.toContain("phone number: ");
  });

  it("is not there where there are no operators", async () => {
    const environment = { ...apiEnvironment, OPERATOR_TOKENS: "" };
    const { app } = createTestApi({ environment });
    for (const path of [
      "/operator",
      "/operator/page.js",
      "/operator/leads.js",
      "/operator/page.css",
    ]) {
      expect([path, (await app.request(path)).status]).toEqual([path, 404]);
    }
  });
});
