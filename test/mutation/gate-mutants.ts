import { becomes, type Edit, without } from "./edits.ts";
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
/** Tests near the ages. */
const ageTests = [
  ...unit("lib", "timing"),
  ...unit("dialer", "claims", "last-look", "a-call", "pace", "dispatches", "sweep", "fresh-calls"),
  "test/simulation/claimed.test.ts",
];

/** Returns the mutants that gates.ts and timing.ts name themselves: each entry of a list left out, and each age times ten. */
export function gateMutants(core: readonly Source[]): HandMade[] {
  return [...withoutEntries(core), ...longAges(core)];
}

function withoutEntries(core: readonly Source[]): HandMade[] {
  const { text, declared } = declaredIn(core, "shared/rules/gates.ts");
  return declared.flatMap(({ name, init }) => {
    if (changedByTests.has(name)) return [];
    const lists = [init, ...listBelow(init)].filter(({ type }) => type === "ArrayExpression");
    return lists
      .flatMap((list) => listIn(list, "elements"))
      .map(({ start, end }) => {
        const entry = text.slice(start, end);
        return toMutant(`${name} without ${entry}`, [`gates:${name}`, without(entry)], listTests);
      });
  });
}

function longAges(core: readonly Source[]): HandMade[] {
  const { text, declared } = declaredIn(core, "shared/lib/timing.ts");
  return declared.flatMap(({ name, init }) => {
    if (!/(?:AgeMsMax|StepMs)$/.test(name)) return [];
    const parts = listBelow(init).filter(({ type }) => type === "ObjectProperty");
    const places = parts.map((part) => ({
      path: `timing:${name}.${nameOf(part)}`,
      value: childOf(part, "value") ?? part,
    }));
    return (parts.length > 0 ? places : [{ path: `timing:${name}`, value: init }]).map(
      ({ path, value }) =>
        toMutant(
          `${path} times ten`,
          [path, becomes(`10 * ${text.slice(value.start, value.end)}`)],
          ageTests,
        ),
    );
  });
}

function toMutant(
  breaks: string,
  edit: readonly [path: string, edit: Edit],
  tests: readonly string[],
): HandMade {
  return { breaks, edits: [edit], tests };
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
