import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import packageJson from "#package.json" with { type: "json" };

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../..");
const command = join(root, "infra/cli/publish-packages.ts");
const repository = "https://git.example.com/you/outbound-calls";

it("packs both libraries with the repository's address and uploads nothing in a dry run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outbound-calls-dry-"));
  const args = [command, "--dry-run", "--repository", `${repository}.git`];
  // No registry answers there, so an upload would fail.
  const env = { ...process.env, TMPDIR: folder, npm_config_registry: "http://127.0.0.1:1" };
  const { stdout } = await run(process.execPath, args, { env });
  const [, packed = ""] = /^Not uploaded, in (\S+):/m.exec(stdout) ?? [];
  const named = `outbound_calls_client-${packageJson.version}`;
  const wheel = `${named}-py3-none-any.whl`;
  const archive = `outbound-calls-client-${packageJson.version}.tgz`;
  expect((await readdir(packed)).toSorted()).toEqual([archive, wheel, `${named}.tar.gz`]);
  await run("tar", ["-xzf", join(packed, archive), "-C", folder]);
  const about = JSON.parse(await readFile(join(folder, "package/package.json"), "utf8"));
  expect(about).toMatchObject({
    homepage: `${repository}#readme`,
    repository: { type: "git", url: `git+${repository}.git`, directory: "infra/client" },
    publishConfig: { access: "public", provenance: true },
  });
  const program = `import zipfile, sys; print(zipfile.ZipFile(sys.argv[1]).read("${named}.dist-info/METADATA").decode())`;
  const metadata = await run("python3", ["-c", program, join(packed, wheel)]);
  expect(metadata.stdout).toContain(`\nProject-URL: Repository, ${repository}\n`);
  await rm(folder, { recursive: true });
});

it("publishes nothing whose repository has no https address", async () => {
  const args = [command, "--repository", "/srv/outbound-calls"];
  await expect(run(process.execPath, args)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("The repository has no https address"),
  });
});
