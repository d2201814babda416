import type { SplitView } from "./answers.ts";

const points = (share: number) => (share * 100).toFixed(1);
const countOf = (count: number) => count.toLocaleString("en");

/**
 * Describes what is known of a split, in sentences: how many chains are missing, or the verdict, and what else
 * differs between the arms. Before the verdict it says nothing about a difference, because whoever looks often enough
 * finds one.
 */
export function saySplit({ since, size, arms, verdict, differs }: SplitView): string[] {
  const compared = arms.filter(({ weight }) => weight > 0);
  if (compared.length < 2) return ["One arm has a weight: there is nothing to compare."];
  const others = differs.length === 0 ? [] : [`The arms also differ in ${differs.join(", ")}.`];
  if (verdict === null) {
    const missing = compared.filter((arm) => arm.missing > 0);
    const lacks = missing.map((arm) => `${countOf(arm.missing)} of ${arm.agent_id}`).join(", ");
    const wait = `The verdict comes with ${countOf(size)} ended calls of each arm`;
    const rest = lacks === "" ? "within a minute" : `${lacks} are missing`;
    const begun = since === null ? ["No call has come since the split was last changed."] : [];
    return [...begun, `${wait}: ${rest}.`, ...others];
  }
  const said = verdict.arms.map(({ agent_id, completes, completed: { low, high } }) => {
    const range = `${points(low)} to ${points(high)} percentage points`;
    if (completes === "not_shown") {
      return `No difference between ${agent_id} and ${verdict.first} is shown: it lies in ${range}.`;
    }
    const [from, to] = completes === "more" ? [low, high] : [-high, -low];
    const by = `${points(from)} to ${points(to)} percentage points`;
    return `${agent_id} completes ${completes} calls than ${verdict.first}, by ${by}.`;
  });
  return [...said, ...others];
}
