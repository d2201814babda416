import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** One job of test/support/place_calls.py. */
export interface PythonJob {
  call?: object;
  calls?: readonly object[];
  /** Id of a request to wait for. */
  wait?: string;
  /** Body of an event to verify, with its `headers` and `secret`. */
  event?: string;
  headers?: Readonly<Record<string, string>>;
  secret?: string;
  key?: string;
  options?: object;
  /** Number of times to repeat the job under the key of its error. */
  patience?: number;
}

interface PythonTask {
  url: string;
  token: string;
  jobs: readonly PythonJob[];
  /** Bounds of the tries: `tries`, `seconds`, `try_seconds`, `delay`. */
  bounds?: Readonly<Record<string, number>>;
}

/** Runs jobs by docs/examples/outbound_calls.py. Returns what each one returned, in order. */
export async function runPython(task: PythonTask): Promise<Record<string, unknown>[]> {
  const child = spawn("python3", ["test/support/place_calls.py"], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
  });
  const failed = new Promise<never>((_, reject) => child.on("error", reject)); // python3 is absent
  child.stdin.end(JSON.stringify(task));
  const [printed, said] = await Promise.race([
    Promise.all([text(child.stdout), text(child.stderr)]),
    failed,
  ]);
  if (said !== "") throw new Error(said);
  return JSON.parse(printed);
}
