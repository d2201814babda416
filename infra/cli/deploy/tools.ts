import { spawn } from "node:child_process";
import { delimiter, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { complain, print, showLines } from "../print.ts";
import { shownText } from "#shared/lib/shown-text.ts";

/** The result of a command of the platform. */
export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Options of a command of the platform. */
interface RunOptions {
  /** Text for its stdin, such as a secret, which no argument and no file holds. */
  input?: string | undefined;
  /** True to print its output as it comes: it takes minutes, or hours. */
  isShown?: boolean;
}

/** The surroundings of a deploy command, replaced in tests. */
export interface Tools {
  environment: Record<string, string | undefined>;
  /**
   * Runs a command of this project's packages, such as `wrangler`, from the project's root, and resolves to its output.
   */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<Ran>;
  fetch: typeof fetch;
  /** Prints a line of progress to stdout. */
  print(line: string): void;
  /** Asks a person for a line; undefined if nobody is there to answer. */
  ask(question: string): Promise<string | undefined>;
  /** Asks a person for a line that is not shown; undefined if nobody is there to answer. */
  askSecret(question: string): Promise<string | undefined>;
}

/** A problem that a person can solve; its message says how. */
export class DeployError extends Error {}

const root = resolve(import.meta.dirname, "../../..");
/** Time limit of one command, and of one that is shown: CloudFormation may make an index of a large table for hours. */
const commandMsMax = 30 * 60_000;
const shownMsMax = 12 * 60 * 60_000;

/** The process's variables, with the commands of this project's packages on the path; CDK's are in their own folder. */
const env = {
  ...process.env,
  PATH: [
    ...["node_modules/.bin", "infra/aws/node_modules/.bin"].map((folder) => resolve(root, folder)),
    process.env["PATH"],
  ].join(delimiter),
};

/** The surroundings of a command that a person runs. */
export const processTools: Tools = {
  environment: process.env,
  fetch,
  print,
  run: (command, args, { input, isShown = false } = {}) =>
    new Promise((done, failed) => {
      const child = spawn(command, args, { cwd: root, env, stdio: ["pipe", "pipe", "pipe"] });
      const msMax = isShown ? shownMsMax : commandMsMax;
      const timer = setTimeout(() => child.kill("SIGKILL"), msMax);
      let stdout = "";
      let stderr = "";
      child.stdout.on("data", (chunk: Buffer) => {
        stdout += chunk.toString();
      });
      child.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      if (isShown) {
        showLines(child.stdout);
        showLines(child.stderr, complain);
      }
      child.once("error", failed);
      child.once("close", (code) => {
        clearTimeout(timer);
        done({ code: code ?? 1, stdout, stderr });
      });
      child.stdin.end(input ?? "");
    }),
  ask: (question) => askAtTerminal(question, { isShown: true }),
  askSecret: (question) => askAtTerminal(question, { isShown: false }),
};

async function askAtTerminal(
  question: string,
  { isShown }: { isShown: boolean },
): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
  });
  if (isShown) {
    try {
      return (await terminal.question(`${shownText(question)}: `)).trim();
    } finally {
      terminal.close();
    }
  }
  // The answer is not echoed: readline writes what is typed through this method.
  Reflect.set(terminal, "_writeToOutput", () => undefined);
  process.stderr.write(`${shownText(question)}: `);
  try {
    return (await terminal.question("")).trim();
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
}

/** Runs a command that must succeed. @throws DeployError with what the command said */
export async function mustRun(
  tools: Tools,
  command: string,
  { args, input }: { args: readonly string[]; input?: string | undefined },
): Promise<string> {
  const { code, stdout, stderr } = await tools.run(command, args, { input });
  if (code === 0) return stdout;
  const said = `${stdout}\n${stderr}`.trim().split("\n").slice(-15).join("\n");
  throw new DeployError(`${command} ${args.join(" ")} failed:\n${said}`);
}
