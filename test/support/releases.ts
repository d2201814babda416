import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "#shared/lib/zod.ts";

/** One version in CHANGELOG.md. */
interface Release {
  version: string;
  isReleased: boolean;
  /** Text of its part "Upgrading"; empty if there is none. */
  upgrading: string;
}

/** The parts of the repository that a released version depends on. */
export interface Releases {
  /** Text of CHANGELOG.md. */
  changelog: string;
  /** Content of infra/d1/published.json: migrations by file name. */
  published: Record<string, { version: string; sha256: string }>;
  /** Texts of the migrations in infra/d1 by file name. */
  migrations: Record<string, string>;
  /** Versions that have a fixture in test/upgrade/fixtures. */
  fixtures: readonly string[];
}

/** Folder of the fixtures, one file a version. */
export const fixturesFolder = "test/upgrade/fixtures";

const publishedSchema = z.record(
  z.string(),
  z.strictObject({ version: z.string(), sha256: z.string() }),
);

/** Reads these parts from the working directory. */
export async function readReleases(): Promise<Releases> {
  const folder = "infra/d1";
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const fixtures = await readdir(fixturesFolder);
  return {
    changelog: await readFile("CHANGELOG.md", "utf8"),
    published: publishedSchema.parse(
      JSON.parse(await readFile(join(folder, "published.json"), "utf8")),
    ),
    migrations: Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""])),
    fixtures: fixtures.flatMap((name) => /^(.*)\.json$/.exec(name)?.[1] ?? []),
  };
}

/** @throws if a heading of a version is malformed: it might hide a release */
export function readChangelog(changelog: string): Release[] {
  const [, ...parts] = changelog.split(/^## /m);
  return parts.map((part) => {
    const heading = part.slice(0, part.indexOf("\n"));
    const [, version, day] = /^(\d+\.\d+\.\d+) – (unreleased|\d{4}-\d\d-\d\d)$/.exec(heading) ?? [];
    if (version === undefined) {
      throw new Error(
        `CHANGELOG.md: "## ${heading}" must be "## 1.2.3 – unreleased" or "## 1.2.3 – 2027-01-31"`,
      );
    }
    const upgrading = /^### Upgrading\n(.*?)(?=^### |$(?![^]))/ms.exec(part)?.[1]?.trim() ?? "";
    return { version, isReleased: day !== "unreleased", upgrading };
  });
}

/** Returns the problems that would make an update unsafe, each as a sentence that says what to do. */
export function findReleaseProblems({
  changelog,
  published,
  migrations,
  fixtures,
}: Releases): string[] {
  const releases = readChangelog(changelog);
  const released = releases.filter(({ isReleased }) => isReleased);
  const next = releases.find(({ isReleased }) => !isReleased)?.version;
  const changedOrGone = Object.entries(published).flatMap(([name, { version, sha256 }]) => {
    const text = migrations[name];
    if (text !== undefined && hashOf(text) === sha256) return [];
    return `${name} is published with ${version} and must stay as it was: restore it, and put the change into a new migration beside it.`;
  });
  const unlisted = Object.keys(migrations).filter((name) => published[name] === undefined);
  const unlistedOnceReleased = released.length === 0 ? [] : unlisted;
  return [
    ...changedOrGone,
    ...unlistedOnceReleased.map((name) => {
      const entry = { version: next ?? released[0]?.version, sha256: hashOf(migrations[name]) };
      return `${name} is not held: add "${name}": ${JSON.stringify(entry)} to infra/d1/published.json.`;
    }),
    ...releases
      .filter(({ upgrading }) => upgrading === "")
      .map(({ version }) => `CHANGELOG.md: ${version} has no part "### Upgrading".`),
    ...Object.entries(published).flatMap(([name, { version }]) => {
      const release = releases.find((one) => one.version === version);
      if (release === undefined) return `CHANGELOG.md has no ${version}, which published ${name}.`;
      const isFirst = release === releases.at(-1);
      if (isFirst || release.upgrading.includes(name)) return [];
      return `CHANGELOG.md: the part "### Upgrading" of ${version} must name the migration ${name}.`;
    }),
    ...released
      .filter(({ version }) => !fixtures.includes(version))
      .map(
        ({ version }) =>
          `${fixturesFolder}/${version}.json is missing: check out ${version}, make it by "npm run fixture", and keep it.`,
      ),
  ];
}

/**
 * Releases the version that is unreleased: gives it its day in the changelog, and lists its migrations, which do not change
 * from then on. Returns the new texts.
 *
 * @param day as the changelog has it, such as 2027-01-31
 * @throws if no version is unreleased
 */
export function releaseNext(
  { changelog, published, migrations }: Releases,
  day: string,
): Pick<Releases, "changelog" | "published"> {
  const next = readChangelog(changelog).find(({ isReleased }) => !isReleased);
  if (next === undefined) throw new Error("CHANGELOG.md has no version that is unreleased.");
  const { version } = next;
  const entries = Object.entries(migrations).map(([name, text]) => {
    return [name, published[name] ?? { version, sha256: hashOf(text) }] as const;
  });
  return {
    changelog: changelog.replace(`## ${version} – unreleased\n`, `## ${version} – ${day}\n`),
    published: { ...published, ...Object.fromEntries(entries) },
  };
}

const hashOf = (text = "") => createHash("sha256").update(text).digest("hex");
