import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect } from "vitest";
import { functionNames } from "#infra/aws/bundle.ts";
import { App } from "#infra/aws/cdk.ts";
import type { OutboundCallsProps } from "#infra/aws/props.ts";
import { readDeployment } from "#infra/aws/settings.ts";
import { OutboundCallsStack } from "#infra/aws/stack.ts";
import type { Ran } from "#infra/cli/deploy/tools.ts";
import type { Template } from "./template.ts";

const root = resolve(import.meta.dirname, "../../..");
const cdk = join(root, "infra/aws/node_modules/.bin/cdk");

/** An end of the process in the middle of its work. */
export class Killed extends Error {}

/** Runs of cdk on one account. */
export interface CdkRuns {
  /** Words of each command. */
  ran: string[][];
  /** Runs a command of cdk as it is, over a template that was made before. */
  run(args: readonly string[], settingsFile: string): Promise<Ran>;
  /** Ends the command that runs, as a person's Ctrl+C or a lost machine does. */
  kill(): void;
}

/**
 * Has the real cdk run over templates that are made once for each set of options, and are removed after the file's tests.
 *
 * @param name the deployment beside the first
 */
export function useCdk(name: string) {
  const folder = mkdtempSync(join(tmpdir(), "outbound-calls-"));
  const made = new Map<string, string>();
  for (const one of functionNames) {
    mkdirSync(join(folder, one));
    writeFileSync(join(folder, one, "index.mjs"), "export const handler = () => undefined;\n");
  }
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Makes the template of a deployment, as infra/aws/app.ts does. */
  function assemblyOf(args: readonly string[], settingsFile: string): string {
    const { stackName, settings } = readDeployment(name, settingsFile);
    const contextOf = (key: string) =>
      args.find((one) => one.startsWith(`${key}=`))?.slice(key.length + 1);
    const json = contextOf("ledgerIndexes");
    const props: Partial<OutboundCallsProps> = {
      ...settings,
      withoutLedger: contextOf("withoutLedger") === "true",
      isUnprotected: contextOf("unprotected") === "true",
      ...(json !== undefined && { ledgerIndexes: JSON.parse(json) }),
    };
    const key = JSON.stringify(props);
    const found = made.get(key);
    if (found !== undefined) return found;
    const outdir = join(folder, `out-${made.size}`);
    const app = new App({ outdir });
    new OutboundCallsStack(app, stackName, { bundles: folder, ...props });
    app.synth();
    const report: unknown = JSON.parse(
      readFileSync(join(outdir, "validation-report.json"), "utf8"),
    );
    expect(report).toMatchObject({ pluginReports: [] });
    made.set(key, outdir);
    return outdir;
  }

  /** Returns the template of a deployment. */
  function templateOf(settingsFile: string, args: readonly string[] = []): Template {
    const file = `${readDeployment(name, settingsFile).stackName}.template.json`;
    return JSON.parse(readFileSync(join(assemblyOf(args, settingsFile), file), "utf8"));
  }

  function runsOn(environment: Record<string, string>): CdkRuns {
    let running: ChildProcess | undefined;
    let isKilled = false;
    const runs: CdkRuns = {
      ran: [],
      kill() {
        isKilled = true;
        running?.kill("SIGKILL");
      },
      async run(args, settingsFile) {
        runs.ran.push([...args]);
        isKilled = false;
        const assembly = assemblyOf(args, settingsFile);
        if (args[0] === "synth") {
          const { stackName } = readDeployment(name, settingsFile);
          const file = `${stackName}.template.json`;
          mkdirSync(join(root, "dist/cdk.out"), { recursive: true });
          copyFileSync(join(assembly, file), join(root, "dist/cdk.out", file));
          return { code: 0, stdout: "", stderr: "" };
        }
        const child = spawn(cdk, [...args, "--app", assembly], {
          cwd: root,
          stdio: ["ignore", "pipe", "pipe"],
          env: {
            PATH: process.env["PATH"],
            HOME: folder,
            NODE_COMPILE_CACHE: join(root, "dist/compile-cache"),
            CDK_DISABLE_VERSION_CHECK: "1",
            ...environment,
          },
        });
        running = child;
        const ran = { code: 0, stdout: "", stderr: "" };
        child.stdout.on("data", (chunk: Buffer) => (ran.stdout += chunk.toString()));
        child.stderr.on("data", (chunk: Buffer) => (ran.stderr += chunk.toString()));
        ran.code = await new Promise<number>((ended) =>
          child.once("close", (code) => ended(code ?? 1)),
        );
        if (isKilled) throw new Killed();
        return ran;
      },
    };
    return runs;
  }
  return { runsOn, templateOf };
}
