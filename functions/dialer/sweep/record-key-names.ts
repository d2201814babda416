import { changeList } from "#shared/policy/dnc-entries.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * While HASH_KEY is rotated, names both keys in the do-not-call list, and notes since when the current key is
 * current. From then on a process that lacks one of them dials nobody, and the time runs after which the former key
 * may be retired. A list that names a missing key stops everybody already, and does not change: no HASH_KEY could
 * hold three keys.
 */
export async function recordKeyNames(
  deps: Pick<DialerDeps, "settings" | "clock" | "documents" | "random">,
): Promise<void> {
  const { keyNames: held } = deps.settings.numbers;
  const [name, former] = held;
  if (name === undefined || former === undefined) return;
  const since = deps.clock.now();
  await changeList((list) => {
    const isRecorded = list.current?.name === name && list.keys.includes(name);
    if (isRecorded || list.keys.some((one) => !held.includes(one))) return undefined;
    return { ...list, keys: [...new Set([...list.keys, ...held])], current: { name, since } };
  }, deps);
}
