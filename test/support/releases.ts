import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { schemaOf } from "#infra/cli/deploy/cloudflare-schema.ts";
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
  /** Texts of the files that have the newest version, by file name. */
  files: Record<string, string>;
}

/** Folder of the fixtures, one file a version. */
export const fixturesFolder = "test/upgrade/fixtures";

/** Files with the version of the service, which its client libraries share. */
const filesWithVersion = [
  "package.json",
  "package-lock.json",
  "infra/client/package.json",
  "infra/client/package-lock.json",
  "infra/client-python/pyproject.toml",
  "infra/client-python/src/outbound_calls/__init__.py",
  "docs/client-typescript.md",
  "docs/client-python.md",
];

/** The version behind the name of a package of ours, in Python's assignment, or in the name of a built file. */
const versionPattern =
  /(?<="name": "outbound-calls(?:-client)?",\s+"version": "|^(?:__version__|version) = "|outbound[-_]calls[-_]client-)\d+\.\d+\.\d+/gm;

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
  const files = filesWithVersion.map(async (name) => [name, await readFile(name, "utf8")]);
  return {
    files: Object.fromEntries(await Promise.all(files)),
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
export function findReleaseProblems(parts: Releases): string[] {
  const releases = readChangelog(parts.changelog);
  return [
    ...findMigrationProblems(parts, releases),
    ...findVersionProblems(parts, releases),
    ...releases
      .filter(({ upgrading }) => upgrading === "")
      .map(({ version }) => `CHANGELOG.md: ${version} has no part "### Upgrading".`),
    ...releases
      .filter(({ version, isReleased }) => isReleased && !parts.fixtures.includes(version))
      .map(
        ({ version }) =>
          `${fixturesFolder}/${version}.json is missing: check out ${version}, make it by "npm run fixture", and keep it.`,
      ),
  ];
}

/** Migrations of released versions do not change, and each has its version. */
function findMigrationProblems(parts: Releases, releases: readonly Release[]): string[] {
  const { published, migrations } = parts;
  const releaseOf = (name: string) =>
    releases.find(({ version }) => version === published[name]?.version);
  const held = Object.keys(published).filter((name) => releaseOf(name)?.isReleased ?? true);
  const changedOrGone = held.filter(
    (name) =>
      migrations[name] === undefined || hashOf(migrations[name]) !== published[name]?.sha256,
  );
  const next = Object.keys(migrations).filter((name) => !held.includes(name));
  const [newest] = releases;
  const asPublished = held.flatMap((name) => migrations[name] ?? []);
  return [
    ...changedOrGone.map(
      (name) =>
        `${name} is published with ${published[name]?.version} and must stay as it was: restore it, and put the change into a new migration beside it.`,
    ),
    ...(changedOrGone.length > 0
      ? []
      : findChangesOfSchema(asPublished, Object.values(migrations))),
    ...next.flatMap((name) => {
      if (newest === undefined || newest.isReleased) {
        return `${name} is of no version yet: ${beginNext}.`;
      }
      return findUnnamed(name, newest, releases);
    }),
    ...held.flatMap((name) => {
      const release = releaseOf(name);
      if (release !== undefined) return findUnnamed(name, release, releases);
      return `CHANGELOG.md has no ${published[name]?.version}, which published ${name}.`;
    }),
  ];
}

/** Every version but the first names its migrations. */
function findUnnamed(name: string, release: Release, releases: readonly Release[]): string[] {
  if (release === releases.at(-1) || release.upgrading.includes(name)) return [];
  return [
    `CHANGELOG.md: the part "### Upgrading" of ${release.version} must name the migration ${name}.`,
  ];
}

/** New migrations only add: after a roll-back the earlier version finds its ledger as its own migrations make it. */
function findChangesOfSchema(published: readonly string[], all: readonly string[]): string[] {
  const { schema } = schemaOf(all);
  return [...schemaOf(published).schema].flatMap(([name, declaration]) =>
    schema.get(name) === declaration
      ? []
      : `A migration changes or removes the ${name}, which a released version needs after a roll-back: add one under another name, and leave it.`,
  );
}

/** All files have the version with which the changelog begins. */
function findVersionProblems({ files }: Releases, [newest]: readonly Release[]): string[] {
  return Object.entries(files).flatMap(([name, text]) => {
    const found = text.match(versionPattern) ?? ["no version"];
    const wrong = found.find((version) => version !== newest?.version);
    if (wrong === undefined) return [];
    return `${name} has ${wrong}, CHANGELOG.md begins with ${newest?.version}: ${beginNext}.`;
  });
}

/**
 * Releases the version that is unreleased: gives it its day in the changelog, and lists its migrations, which do not change
 * from then on. Returns the new texts.
 *
 * @param day as the changelog has it, such as 2027-01-31
 * @throws if the newest version is released
 */
export function releaseNext(
  { changelog, published, migrations }: Releases,
  day: string,
): Pick<Releases, "changelog" | "published"> {
  const [newest] = readChangelog(changelog);
  if (newest === undefined || newest.isReleased) {
    throw new Error(`CHANGELOG.md begins with no unreleased version: ${beginNext}.`);
  }
  const { version } = newest;
  const entries = Object.entries(migrations).map(([name, text]) => {
    const before = published[name];
    const isHeld = before !== undefined && before.version !== version;
    return [name, isHeld ? before : { version, sha256: hashOf(text) }] as const;
  });
  return {
    changelog: changelog.replace(`## ${version} – unreleased\n`, `## ${version} – ${day}\n`),
    published: { ...published, ...Object.fromEntries(entries) },
  };
}

/**
 * Begins the version after a released one: a section of the changelog, and the version in each file that has it. Returns
 * the new texts.
 *
 * @throws if the newest version is unreleased, or not below `version`
 */
export function startNext(
  { changelog, files }: Releases,
  version: string,
): Pick<Releases, "changelog" | "files"> {
  const [newest] = readChangelog(changelog);
  if (newest?.isReleased !== true) {
    throw new Error(`CHANGELOG.md does not begin with a released version: release it first.`);
  }
  const isLater = newest.version.localeCompare(version, "en", { numeric: true }) < 0;
  if (!/^\d+\.\d+\.\d+$/.test(version) || !isLater) {
    throw new Error(`${version} is no version after ${newest.version}.`);
  }
  const section = `## ${version} – unreleased\n\n### Upgrading\n\nNothing else is to be done.\n\n`;
  return {
    changelog: changelog.replace(/^(?=## )/m, section),
    files: Object.fromEntries(
      Object.entries(files).map(([name, text]) => [name, text.replace(versionPattern, version)]),
    ),
  };
}

const beginNext = 'begin the next version by "npm run release -- --next VERSION"';
const hashOf = (text = "") => createHash("sha256").update(text).digest("hex");
