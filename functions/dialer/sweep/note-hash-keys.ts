import { changeList } from "../../../shared/policy/dnc-entries.ts";
import { namesOf } from "../../../shared/policy/controls.ts";
import { nameOfKey } from "../../../shared/telephony/phone-number.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * While HASH_KEY is rotated, names both keys in the do-not-call list, and notes since when the current one is so. From then
 * on whoever lacks one of them dials nobody, and the time runs after which the former key may be ended.
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
        : {
            ...list,
            keys: [...new Set([...list.keys, ...namesOf(hashKeys)])],
            current: { name, since },
          },
    deps,
  );
}
