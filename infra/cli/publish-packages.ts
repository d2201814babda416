/**
 * `npm run publish:packages`: builds and packs both client libraries, and publishes them with the login of npm and twine.
 * `--dry-run` uploads nothing.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import packageJson from "#package.json" with { type: "json" };
import { printHelp } from "./help.ts";
import { complain, print } from "./print.ts";

printHelp(`npm run publish:packages -- --dry-run

Packs infra/client for npm and infra/client-python for PyPI, with the address of your repository, and publishes both by
npm and twine, with your own login. Needs Python 3.11 and twine 6.1.

--dry-run         uploads nothing, and lists what would be uploaded
--repository URL  https address of the repository; by default that of the git remote origin`);

const { values } = parseArgs({
  options: { "dry-run": { type: "boolean", default: false }, repository: { type: "string" } },
});
const isDryRun = values["dry-run"];
const root = resolve(import.meta.dirname, "../..");
const repository = readRepository(values.repository ?? remoteUrl());
const folder = mkdtempSync(join(tmpdir(), "outbound-calls-publish-"));
publishTypescript();
publishPython();

function publishTypescript(): void {
  const work = copyOf("client", ["node_modules", "dist", "generated"]);
  for (const built of ["node_modules", "generated"]) {
    cpSync(join(root, "infra/client", built), join(work, built), { recursive: true });
  }
  const path = join(work, "package.json");
  const read: { version: string } = JSON.parse(readFileSync(path, "utf8"));
  requireVersion("infra/client/package.json", read.version);
  const about = {
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git`, directory: "infra/client" },
  };
  writeFileSync(path, JSON.stringify({ ...read, ...about }, null, 2));
  const hasProvenance =
    process.env["ACTIONS_ID_TOKEN_REQUEST_URL"] ?? process.env["SIGSTORE_ID_TOKEN"];
  const provenance = hasProvenance ? [] : ["--provenance=false"];
  if (isDryRun) run("npm", ["pack", "--pack-destination", folder], work);
  else run("npm", ["publish", ...provenance], work);
}

function publishPython(): void {
  const work = copyOf("client-python", ["__pycache__"]);
  const path = join(work, "pyproject.toml");
  const text = readFileSync(path, "utf8");
  requireVersion("infra/client-python/pyproject.toml", /^version = "(.+)"$/m.exec(text)?.[1]);
  const entry = join(work, "src/outbound_calls/__init__.py");
  const inPackage = /^__version__ = "(.+)"$/m.exec(readFileSync(entry, "utf8"))?.[1];
  requireVersion("outbound_calls.__version__", inPackage);
  const urls = `\n[project.urls]\nRepository = "${repository}"\nIssues = "${repository}/issues"\n`;
  writeFileSync(path, text + urls);
  const build =
    "import build_package as b, sys; print(b.build_sdist(sys.argv[1])); print(b.build_wheel(sys.argv[1]))";
  run("python3", ["-c", build, folder], work);
  const files = readdirSync(folder).filter((name) => /\.(whl|tar\.gz)$/.test(name));
  if (isDryRun) print(`Not uploaded, in ${folder}: ${readdirSync(folder).join(", ")}`);
  else run("python3", ["-m", "twine", "upload", ...files.map((name) => join(folder, name))], work);
}

/** Copies a library, so that the address of the repository gets into no file of the clone. */
function copyOf(name: string, leftOut: readonly string[]): string {
  const work = mkdtempSync(join(tmpdir(), `outbound-calls-${name}-`));
  const filter = (source: string) => !leftOut.includes(source.split("/").at(-1) ?? "");
  cpSync(join(root, "infra", name), work, { recursive: true, filter });
  return work;
}

function requireVersion(where: string, version: string | undefined): void {
  if (version === packageJson.version) return;
  fail(`${where} has the version ${version}, the service ${packageJson.version}.`);
}

function remoteUrl(): string {
  const { stdout } = spawnSync("git", ["remote", "get-url", "origin"], { cwd: root });
  return stdout.toString().trim();
}

/** Returns an https address without `.git`, as registries show it and provenance compares it. */
function readRepository(url: string): string {
  const https = url
    .replace(/^git@([^:]+):/, "https://$1/")
    .replace(/^git\+/, "")
    .replace(/(\.git)?\/?$/, "");
  if (!/^https:\/\/[\w.-]+\/[\w./-]+$/.test(https)) {
    fail(
      "The repository has no https address: add --repository https://github.com/YOU/outbound-calls.",
    );
  }
  return https;
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function fail(reason: string): never {
  complain(reason);
  process.exit(1);
}
