import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  findReleaseProblems,
  readChangelog,
  readReleases,
  releaseNext,
  type Releases,
} from "#test/support/releases.ts";

const first = "CREATE TABLE calls (id TEXT);\n";
const sha256 = createHash("sha256").update(first).digest("hex");
const section = (heading: string, upgrading = "Nothing is asked of you.") =>
  `## ${heading}\n\n### Upgrading\n\n${upgrading}\n\n### Added\n\n- A thing.\n\n`;

/** A repository that has released 0.1.0. */
const released = (more: Partial<Releases> = {}): Releases => ({
  changelog: `# Changelog\n\n${section("0.1.0 – 2026-12-01")}`,
  published: { "0001_ledger.sql": { version: "0.1.0", sha256 } },
  migrations: { "0001_ledger.sql": first },
  fixtures: ["0.1.0"],
  ...more,
});

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

  it.each(["0.1.0 – 2026-12-01", "0.2.0 – unreleased"])(
    "must list each migration with its digest (newest: %s)",
    (newest) => {
      const old = newest.startsWith("0.2") ? section("0.1.0 – 2026-12-01") : "";
      const changelog = section(newest, "Run the deploy command.") + old;
      const [problem, ...more] = findReleaseProblems(released({ changelog, published: {} }));
      const version = newest.slice(0, 5);
      expect(problem).toContain(`"0001_ledger.sql": ${JSON.stringify({ version, sha256 })}`);
      expect(more).toEqual([]);
    },
  );

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
    expect(() => releaseNext(after, "2026-12-02")).toThrow(/no version that is unreleased/);
    // A later version keeps what an earlier one has published, by that one's hash.
    const next = section("0.2.0 – unreleased", "`0002_more.sql` adds a column.") + after.changelog;
    const migrations = { ...changed, "0002_more.sql": first };
    const second = releaseNext({ ...after, changelog: next, migrations }, "2027-01-31");
    expect(second.published).toEqual({
      ...released().published,
      "0002_more.sql": { version: "0.2.0", sha256 },
    });
  });

  it("says what it asks of who upgrades, and names its migrations", () => {
    const bare = "## 0.2.0 – 2027-01-31\n\n### Added\n\n- A thing.\n\n";
    const old = section("0.1.0 – 2026-12-01");
    const fixtures = ["0.1.0", "0.2.0"];
    expect(findReleaseProblems(released({ changelog: bare + old, fixtures }))).toEqual([
      'CHANGELOG.md: 0.2.0 has no part "### Upgrading".',
    ]);
    const second = { "0002_more.sql": { version: "0.2.0", sha256 } };
    const withSecond = (words: string) =>
      released({
        changelog: section("0.2.0 – 2027-01-31", words) + old,
        published: { ...released().published, ...second },
        migrations: { ...released().migrations, "0002_more.sql": first },
        fixtures,
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
