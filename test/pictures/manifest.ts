/** Tells which pictures of the operator's page are of the page as it is. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build, transform } from "esbuild";
import { shots, windows } from "./shots.ts";

export const root = resolve(import.meta.dirname, "../..");
const folder = "docs/pictures";
const manifestFile = "docs/pictures/manifest.json";
export const colorSchemes = ["light", "dark"] as const;

/** Hashes by a picture's name: of what determines it, and of the file itself. */
type Manifest = Record<string, { source: string; file: string }>;

/** Returns the file of a picture in the repository. */
export function pictureFile(name: string): string {
  return `${folder}/${name}.webp`;
}

/** Returns the names of the pictures of a view: each window, light and dark. */
export function picturesOf(name: string): string[] {
  return windows.flatMap(({ width }) => colorSchemes.map((scheme) => `${name}-${width}-${scheme}`));
}

/**
 * Hashes what determines each picture: its view with all that it imports, the frame of the page, the style sheet, the
 * day of calls and how the picture is made. Comments and formatting change nothing.
 */
async function hashSources(from = root): Promise<Record<string, string>> {
  const common = await Promise.all([
    ...["app/page.tsx", "parts/messages.tsx", "app/page.css"].map((name) =>
      withoutComments(from, consoleFile(name)),
    ),
    withoutComments(from, "test/support/believable-day.ts"),
    withoutComments(from, "test/pictures/shots.ts"),
    withoutComments(from, "test/pictures/screenshots.ts"),
  ]);
  const hashes = shots.map(async ({ name, views }) => {
    const drawn = await Promise.all(views.map((view) => bundled(from, consoleFile(view))));
    return [name, hashOf([...common, ...drawn].join("\n"))] as const;
  });
  return Object.fromEntries(await Promise.all(hashes));
}

/** Returns the manifest that fits the page and the pictures as they are. */
export async function describePictures(): Promise<Manifest> {
  const sources = await hashSources();
  const entries = shots.flatMap(({ name }) =>
    picturesOf(name).map(async (picture) => {
      const bytes = await readFile(join(root, pictureFile(picture))).catch(() => undefined);
      const file = bytes === undefined ? "" : hashOf(bytes);
      return [picture, { source: sources[name] ?? "", file }] as const;
    }),
  );
  return Object.fromEntries(await Promise.all(entries));
}

export async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, manifestFile), "utf8"));
}

/** Returns the text of the manifest's file, and its path. */
export function manifestText(manifest: Manifest): { path: string; text: string } {
  return { path: join(root, manifestFile), text: `${JSON.stringify(manifest, null, 2)}\n` };
}

function consoleFile(name: string): string {
  return `functions/console/${name}`;
}

async function withoutComments(from: string, file: string): Promise<string> {
  const source = await readFile(join(from, file), "utf8");
  const loader = file.endsWith(".css") ? "css" : file.endsWith(".tsx") ? "tsx" : "ts";
  const { code } = await transform(source, { loader, minify: true, jsx: "automatic" });
  return code.replaceAll(/from"[^"]*"/g, ""); // a file that moves draws the same
}

async function bundled(from: string, file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(from, file)],
    bundle: true,
    minify: true,
    format: "esm",
    jsx: "automatic",
    // A package draws nothing by itself.
    packages: "external",
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

function hashOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}
