import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  describePictures,
  pictureFile,
  picturesOf,
  readManifest,
  root,
} from "#test/pictures/manifest.ts";
import { shots } from "#test/pictures/shots.ts";

const names = shots.flatMap(({ name }) => picturesOf(name));

describe("a picture of the operator's page", () => {
  let manifest: Awaited<ReturnType<typeof readManifest>>;
  let today: typeof manifest;
  beforeAll(async () => {
    [manifest, today] = await Promise.all([readManifest(), describePictures()]);
  });

  it.each(names)("is of the page as it is: %s", (name) => {
    const file = pictureFile(name);
    expect(today[name]?.source, `${file} shows a former page: run npm run screenshots`).toBe(
      manifest[name]?.source,
    );
    expect(today[name]?.file, `${file} was not made by npm run screenshots`).toBe(
      manifest[name]?.file,
    );
  });

  it.each(names)("is shown in README.md or docs: %s", async (name) => {
    const pages = ["README.md", "docs/operators.md", "docs/pictures/README.md"];
    const texts = await Promise.all(pages.map((page) => readFile(join(root, page), "utf8")));
    expect(texts.join("\n")).toContain(`${name}.webp`);
  });
});
