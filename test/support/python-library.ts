import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

/** Where the sources of the Python package are. */
export const pythonSources = "infra/client-python/src";

/** One job of test/support/place_calls.py. */
export interface PythonJob {
  call?: object;
  calls?: readonly object[];
  /** Id of a request to wait for. */
  wait?: string;
  /** A method of the client, with its arguments in `args` and `options`. */
  method?: string;
  args?: readonly unknown[];
  /** Body of an event to verify, with its `headers` and `secret`. */
  event?: string;
  headers?: Readonly<Record<string, string>>;
  secret?: string | readonly string[];
  key?: string;
  options?: object;
  /** Faults of the tries of some requests under one key, by one client. */
  story?: readonly (readonly string[])[];
  /** Seconds after which the job's task is cancelled, in a timed task. */
  cancel_after?: number;
  /** Options of the job's own client, in a timed task. */
  client_options?: object;
  /** Number of times to repeat the job under the key of its error. */
  patience?: number;
}

interface PythonTask {
  url: string;
  token: string;
  jobs: readonly PythonJob[];
  /** The blocking client, or that of asyncio. Default: the former. */
  client?: "sync" | "async";
  /** Bounds of the tries: `tries`, `timeout`, `try_timeout`, `delay`. */
  bounds?: Readonly<Record<string, number>>;
  /** True: jobs run one after another, and each result has its seconds. */
  timed?: boolean;
  /** A port to which nobody listens, for stories. */
  dead_port?: number;
}

/** The environment of a program that imports the package from its sources, or as `python` has it installed. */
export const pythonEnvironment = (sources = pythonSources) => ({
  ...process.env,
  PYTHONPATH: sources,
  // Compiled once, and not beside the sources: to compile takes a third of a short program's time.
  PYTHONDONTWRITEBYTECODE: "",
  PYTHONPYCACHEPREFIX: resolve(
    import.meta.dirname,
    "../../node_modules/.cache/outbound-calls/python",
  ),
  OUTBOUND_CALLS_PYTHON: sources,
});

/** Runs jobs by the Python package. Returns what each one returned, in order. */
export async function runPython<Result = Record<string, unknown>>(
  task: PythonTask,
  { python = "python3", sources = pythonSources } = {},
): Promise<Result[]> {
  const child = spawn(python, ["-W", "error", "test/support/place_calls.py"], {
    stdio: ["pipe", "pipe", "pipe"],
    env: pythonEnvironment(sources),
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
