import { ChildProcess, spawn } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

/** Reads lists of process ids, a line each, and kills those of the last one once the other end is closed. */
const guard = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -KILL $pids';

/**
 * Makes every child process that is started from now on end with this process, however it ends, SIGKILL included. A
 * killed process cannot do that itself, so a shell in a session of its own waits for the end of a pipe.
 */
export function endChildrenWithProcess(): void {
  const shell = spawn("sh", ["-c", guard], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  shell.unref();
  shell.stdin.on("error", () => undefined); // the shell was killed, and nobody is left to guard the children
  const pids = new Set<number>();
  const tell = () => shell.stdin.write(`${[...pids].join(" ")}\n`);
  subscribe("child_process", (message) => {
    const child =
      typeof message === "object" && message !== null && "process" in message && message.process;
    if (!(child instanceof ChildProcess)) return;
    child.once("spawn", () => {
      const { pid = 0 } = child;
      pids.add(pid);
      tell();
      child.once("exit", () => {
        pids.delete(pid);
        tell();
      });
    });
  });
}
