/** Returns the first of some things. @throws if there is none: what a test has prepared is then not there */
export function firstOf<Thing>(things: readonly Thing[]): Thing {
  const [first] = things;
  if (first === undefined) throw new Error("there is none");
  return first;
}
