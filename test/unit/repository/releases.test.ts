import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  findReleaseProblems,
  readChangelog,
  readReleases,
  releaseNext,
  type Releases,
  startNext,
} from "#test/support/releases.ts";

const first = "CREATE TABLE calls (id TEXT);\nCREATE INDEX calls_id ON calls (id);\n";
const more = "ALTER TABLE calls ADD COLUMN tag TEXT;\nCREATE INDEX calls_tag ON calls (tag);\n";
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const sha256 = hashOf(first);
const section = (heading: string, upgrading = "Nothing is asked of you.") =>
  `## ${heading}\n\n### Upgrading\n\n${upgrading}\n\n### Added\n\n- A thing.\n\n`;

const fileOf = (version: string) => ({
  "package.json": `{\n  "name": "outbound-calls",\n  "version": "${version}",\n`,
});

/** A repository that has released 0.1.0. */
const released = (parts: Partial<Releases> = {}): Releases => ({
  changelog: `# Changelog\n\n${section("0.1.0 – 2026-12-01")}`,
  published: { "0001_ledger.sql": { version: "0.1.0", sha256 } },
  migrations: { "0001_ledger.sql": first },
  fixtures: ["0.1.0"],
  files: fileOf("0.1.0"),
  ...parts,
});

/** The parts as they are once their newest version is released. */
const releasedBy = (parts: Releases): Releases => {
  const [newest] = readChangelog(parts.changelog);
  return newest?.isReleased === false ? { ...parts, ...releaseNext(parts, "2027-01-31") } : parts;
};

/** The same repository while 0.2.0 is made. */
const next = (parts: Partial<Releases> = {}): Releases => {
  const words = "`0002_more.sql` adds a column.";
  return released({
    changelog: section("0.2.0 – unreleased", words) + section("0.1.0 – 2026-12-01"),
    migrations: { "0001_ledger.sql": first, "0002_more.sql": more },
    files: fileOf("0.2.0"),
    ...parts,
  });
};

describe("a version that people have deployed", () => {
  it("keeps its migrations, its fixture and its words on upgrading, in this repository", async () => {
    expect(findReleaseProblems(await readReleases())).toEqual([]);
  });

  it("has no problems if all of these exist", () => {
    expect(findReleaseProblems(released())).toEqual([]);
  });

  it("has its migrations changed until it is released, and never again", () => {
    const changelog = section("0.1.0 – unreleased");
    const migrations = { "0001_ledger.sql": `${first}-- changed` };
    expect(findReleaseProblems(released({ changelog, published: {}, migrations }))).toEqual([]);
    expect(findReleaseProblems(released({ migrations }))).toEqual([
      expect.stringMatching(/^0001_ledger.sql is published with 0.1.0 and must stay as it was/),
    ]);
    expect(findReleaseProblems(released({ migrations: {} }))).toHaveLength(1);
  });

  it("lists no migration until its release, and asks for the next version before another one", () => {
    expect(findReleaseProblems(next())).toEqual([]);
    const changelog = section("0.2.0 – unreleased") + section("0.1.0 – 2026-12-01");
    expect(findReleaseProblems(next({ changelog }))).toEqual([
      'CHANGELOG.md: the part "### Upgrading" of 0.2.0 must name the migration 0002_more.sql.',
    ]);
    const listed = { version: "0.2.0", sha256: hashOf("another form") };
    const published = { ...released().published, "0002_more.sql": listed };
    expect(findReleaseProblems(next({ published }))).toEqual([]);
    expect(releaseNext(next({ published }), "2027-01-31").published["0002_more.sql"]).toEqual({
      version: "0.2.0",
      sha256: hashOf(more),
    });
    const { migrations } = next();
    expect(findReleaseProblems(released({ migrations }))).toEqual([
      '0002_more.sql is of no version yet: begin the next version by "npm run release -- --next VERSION".',
    ]);
  });

  it("finds its ledger after a roll-back as its own migrations make it", () => {
    const index = "DROP INDEX calls_id;\nCREATE INDEX calls_id ON calls (id) WHERE id > '';\n";
    const column = "ALTER TABLE calls RENAME COLUMN id TO call_id;\n";
    for (const [text, problems] of [
      [index, [/changes or removes the index calls_id,/]],
      ["DROP INDEX calls_id;\n", [/changes or removes the index calls_id,/]],
      [column, [/the index calls_id,/, /the column calls.id,/]],
    ] as const) {
      const migrations = { "0001_ledger.sql": first, "0002_more.sql": text };
      const found = problems.map((one) => expect.stringMatching(one));
      expect(findReleaseProblems(next({ migrations }))).toEqual(found);
    }
  });

  it("has the number with which the changelog begins, in every file", () => {
    expect(findReleaseProblems(next({ files: fileOf("0.1.0") }))).toEqual([
      expect.stringMatching(/^package.json has 0.1.0, CHANGELOG.md begins with 0.2.0: begin/),
    ]);
    const files = { "docs/client.md": "npm install ./client.tgz" };
    expect(findReleaseProblems(released({ files }))).toEqual([
      expect.stringMatching(/^docs\/client.md has no version,/),
    ]);
  });

  it("is followed by the next version by one command, in every file that has its number", async () => {
    const parts = await readReleases();
    const [{ version } = { version: "" }] = readChangelog(parts.changelog);
    const changelog = parts.changelog.replace(/ – unreleased\n/, " – 2027-01-31\n");
    const later = { ...parts, ...startNext({ ...parts, changelog }, "10.11.12") };
    expect(readChangelog(later.changelog)[0]).toMatchObject({
      version: "10.11.12",
      isReleased: false,
    });
    const { migrations, published, fixtures } = releasedBy(parts);
    expect(findReleaseProblems({ ...later, migrations, published, fixtures })).toEqual(
      findReleaseProblems(parts),
    );
    for (const [name, text] of Object.entries(later.files)) {
      expect(text.replaceAll("10.11.12", version), name).toBe(parts.files[name]);
    }
    expect(() => startNext(next(), "0.3.0")).toThrow(/release it first/);
    expect(() => startNext(released(), "0.1.0")).toThrow("0.1.0 is no version after 0.1.0.");
  });

  it("is released by one command, after which none of its migrations changes", () => {
    const changelog = `# Changelog\n\n${section("0.1.0 – unreleased")}`;
    const before = released({ changelog, published: {} });
    expect(releaseNext(before, "2026-12-01")).toEqual({
      changelog: released().changelog,
      published: released().published,
    });
    const after = { ...before, ...releaseNext(before, "2026-12-01") };
    expect(findReleaseProblems(after)).toEqual([]);
    const changed = { "0001_ledger.sql": `${first}-- changed` };
    expect(findReleaseProblems({ ...after, migrations: changed })).toHaveLength(1);
    expect(() => releaseNext(after, "2026-12-02")).toThrow(/begins with no unreleased version/);
    // A later version keeps what an earlier one has published, by that one's hash.
    const second = releaseNext(next({ published: after.published }), "2027-01-31");
    expect(second.published).toEqual({
      ...released().published,
      "0002_more.sql": { version: "0.2.0", sha256: hashOf(more) },
    });
  });

  it("says what it asks of who upgrades, and names its migrations", () => {
    const bare = "## 0.2.0 – 2027-01-31\n\n### Added\n\n- A thing.\n\n";
    const old = section("0.1.0 – 2026-12-01");
    const fixtures = ["0.1.0", "0.2.0"];
    const files = fileOf("0.2.0");
    expect(findReleaseProblems(released({ changelog: bare + old, fixtures, files }))).toEqual([
      'CHANGELOG.md: 0.2.0 has no part "### Upgrading".',
    ]);
    const second = { "0002_more.sql": { version: "0.2.0", sha256: hashOf(more) } };
    const withSecond = (words: string) =>
      released({
        changelog: section("0.2.0 – 2027-01-31", words) + old,
        published: { ...released().published, ...second },
        migrations: { ...released().migrations, "0002_more.sql": more },
        fixtures,
        files,
      });
    expect(findReleaseProblems(withSecond("Nothing."))).toEqual([
      expect.stringContaining("must name the migration 0002_more.sql"),
    ]);
    expect(findReleaseProblems(withSecond("`0002_more.sql` adds a column."))).toEqual([]);
  });

  it("has a fixture of what it stored", () => {
    expect(findReleaseProblems(released({ fixtures: [] }))).toEqual([
      expect.stringMatching(/^test\/upgrade\/fixtures\/0.1.0.json is missing/),
    ]);
  });

  it("has a heading that cannot be taken for another", () => {
    expect(() => readChangelog("## 0.1.0 (2026-12-01)\n")).toThrow(/must be "## 1.2.3/);
    expect(readChangelog(section("0.1.0 – 2026-12-01", "Two\nlines."))).toEqual([
      { version: "0.1.0", isReleased: true, upgrading: "Two\nlines." },
    ]);
  });
});
