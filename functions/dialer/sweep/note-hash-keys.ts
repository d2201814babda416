import { changeList } from "../../../shared/policy/dnc-entries.ts";
import { nameOfKey } from "../../../shared/telephony/hash-keys.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * While HASH_KEY is rotated, notes the current key in the do-not-call list, and since when it is so. From then on whoever
 * does not hold it dials nobody, and the time runs after which the former key may be ended.
 */
export async function noteHashKeys(deps: DialerDeps): Promise<void> {
  const { hashKeys } = deps.settings;
  if (hashKeys.former === undefined) return;
  const name = nameOfKey(hashKeys.current);
  const since = deps.clock.now();
  await changeList(
    (list) =>
      list.current?.name === name && list.keys.includes(name)
        ? undefined
        : { ...list, keys: [...new Set([...list.keys, name])], current: { name, since } },
    deps,
  );
}
