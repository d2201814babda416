import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { RunningService } from "./service.ts";

const readme = await readFile("README.md", "utf8");
const [, section = ""] = /<!-- quickstart -->(.*?)<!-- \/quickstart -->/s.exec(readme) ?? [];

/** The shell commands of README's quickstart, in order. */
export const quickstartCommands = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(
  ([, command = ""]) => command,
);

/** Returns the token that a service has printed. */
export function tokenOf(service: RunningService): string {
  const [, token = ""] = /^Token: (oc_\w+)$/m.exec(service.output()) ?? [];
  return token;
}

/** Returns the test token that a service has printed. */
export function testTokenOf(service: RunningService): string {
  const [, token = ""] = /^Test token: (oc_\w+),/m.exec(service.output()) ?? [];
  return token;
}

/** Pastes a command into a shell, with the service's own port, as 8787 may be taken. Resolves to what it prints. */
export async function paste(command: string, service: RunningService): Promise<string> {
  const pasted = command.replaceAll(":8787", `:${service.port}`);
  const env = { ...process.env, TOKEN: tokenOf(service) };
  return (await promisify(execFile)("sh", ["-c", pasted], { env })).stdout;
}
