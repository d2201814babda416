import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

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

/** Programs that are running: to start one takes longer than most tasks. They end with the process that tests. */
const programs = new Map<string, ReturnType<typeof startProgram>>();

function startProgram(python: string, sources: string) {
  const child = spawn(python, ["-W", "error", "test/support/place_calls.py"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: pythonEnvironment(sources),
  });
  const handles = [child, child.stdin, child.stdout].filter((one) => "ref" in one);
  const lines = createInterface({ input: child.stdout });
  const ended = new Promise<never>((_, reject) => {
    child.on("error", reject); // python3 is absent
    child.on("close", (code) => reject(new Error(`${python} ended with ${code}`)));
  });
  ended.catch(() => undefined);
  /** Resolves to the line that it prints for a task. */
  async function run(task: PythonTask): Promise<string> {
    for (const handle of handles) handle.ref();
    child.stdin.write(`${JSON.stringify(task)}\n`);
    const [line]: string[] = await Promise.race([once(lines, "line"), ended]);
    for (const handle of handles) handle.unref();
    return line ?? "";
  }
  let last: Promise<unknown> = Promise.resolve();
  return (task: PythonTask): Promise<string> => {
    const line = last.then(() => run(task));
    last = line;
    return line;
  };
}

/** Runs jobs by the Python package. Returns what each one returned, in order. @throws what the program says, as a warning */
export async function runPython<Result = Record<string, unknown>>(
  task: PythonTask,
  { python = "python3", sources = pythonSources } = {},
): Promise<Result[]> {
  const key = `${python} ${sources}`;
  const run = programs.get(key) ?? startProgram(python, sources);
  programs.set(key, run);
  const { results, said }: { results: Result[]; said: string } = JSON.parse(await run(task));
  if (said !== "") throw new Error(said);
  return results;
}
