import { without } from "./edits.ts";
import type { HandMade } from "./mutant.ts";
import { childOf, listBelow, listIn, nameOf, type Node, type Source } from "./tree.ts";

/**
 * Lists of gates.ts that test/unit/rules changes in every way itself: entries left out, neighbours exchanged, give-backs idle.
 * The order of the others changes nothing: each names documents, sentences or reasons, or all of its entries must agree.
 */
const changedByTests: ReadonlySet<string> = new Set(
  (
    "ends waits trusted delivery resend byTime orders permitTime clock beforeClaim beforeClaimInDelivery " +
    "beforeClaimByDocuments takes rooms backlogRooms stops rests holders simulated uses"
  ).split(" "),
);

const unit = (folder: string, ...names: string[]) =>
  names.map((name) => `test/unit/${folder}/${name}.test.ts`);

/** Tests near the lists. */
const listTests = [
  ...unit("rules", "lists", "rooms", "texts", "unreadable"),
  ...unit("dialer", "orders", "restore", "caps", "pace", "taken", "account-days", "dispatcher"),
  ...unit(
    "dialer",
    "client-opt-outs",
    "erasures",
    "breakers",
    "first-rows",
    "checks",
    "caller-ids",
  ),
  ...unit("operator", "forecast", "why"),
  ...unit("policy", "readiness"),
];

/** Returns a mutant for each entry of a list that is left out. timing.test.ts changes the ages itself. */
export function gateMutants(core: readonly Source[]): HandMade[] {
  const { text, declared } = declaredIn(core, "shared/rules/gates.ts");
  return declared.flatMap(({ name, init }) => {
    if (changedByTests.has(name)) return [];
    const lists = [init, ...listBelow(init)].filter(({ type }) => type === "ArrayExpression");
    return lists
      .flatMap((list) => listIn(list, "elements"))
      .map(({ start, end }) => {
        const entry = text.slice(start, end);
        const breaks = `${name} without ${entry}`;
        return { breaks, edits: [[`gates:${name}`, without(entry)]], tests: listTests };
      });
  });
}

/** Returns the variables that a file declares, with their values. */
function declaredIn(core: readonly Source[], file: string) {
  const source = core.find((one) => one.file === file);
  if (source === undefined) throw new Error(`there is no ${file}`);
  const declared = listBelow(source.program).flatMap((node: Node) => {
    const init = node.type === "VariableDeclarator" ? childOf(node, "init") : undefined;
    return init === undefined ? [] : [{ name: nameOf(node) ?? "", init }];
  });
  return { text: source.text, declared };
}
