import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { consolePolicy } from "#functions/api/http/serve-files.ts";
import { createTestApi, readServed } from "#test/support/api.ts";
import { apiEnvironment } from "#test/support/environment.ts";

const textOf = async (name: Parameters<typeof readServed>[0]) =>
  new Response(await readServed(name)).text();
const sizeOf = (texts: readonly string[]) =>
  texts.reduce((sum, text) => sum + gzipSync(text).byteLength, 0);

describe("the operator's page", () => {
  it("is under 55 kB gzip for the first view, and asks no other host for anything", async () => {
    const html = await textOf("page.html");
    const style = await textOf("page.css");
    const scripts = await Promise.all([textOf("page.js"), textOf("shared.js")]);
    const bytes = sizeOf([html, style, ...scripts]);
    expect(bytes).toBeLessThan(55_000);
    expect(bytes).toBeGreaterThan(5_000); // the files are the page's
    expect(html + style).not.toMatch(/https?:|@import/);
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/);
    expect(consolePolicy).toMatch(/^default-src 'none'/);
    expect(consolePolicy).not.toMatch(/unsafe|\*|https?:/);
  });

  it("loads the other views from a file of their own, and has under 90 kB gzip of scripts in all", async () => {
    const scripts = await Promise.all([textOf("page.js"), textOf("views.js"), textOf("shared.js")]);
    expect(sizeOf(scripts)).toBeLessThan(90_000);
    const [page, views] = scripts;
    const [, build] = /import\("\.\/views\.js\?([\w-]{10})"\)/.exec(page) ?? [];
    expect(build).toBeDefined();
    for (const script of [page, views]) expect(script).toContain(`"./shared.js?${build}"`);
    expect(scripts.join("")).not.toContain("PAGE_BUILD_ID");
  });

  it("loads the reader of leads from a file of its own, of under 60 kB gzip", async () => {
    const scripts = await Promise.all([textOf("page.js"), textOf("views.js"), textOf("shared.js")]);
    const reader = await textOf("leads.js");
    expect(scripts.join("")).toMatch(/import\("\.\/leads\.js"\)/);
    expect(sizeOf([reader])).toBeLessThan(60_000);
    expect(reader).toContain("phone number: ");
    expect(scripts.join("")).not.toContain("phone number: ");
  });

  it("is not there where there are no operators", async () => {
    const environment = { ...apiEnvironment, OPERATOR_TOKENS: "" };
    const { app } = createTestApi({ environment });
    for (const path of [
      "/operator",
      "/operator/page.js",
      "/operator/views.js",
      "/operator/shared.js",
      "/operator/leads.js",
      "/operator/page.css",
    ]) {
      expect([path, (await app.request(path)).status]).toEqual([path, 404]);
    }
  });
});
