/** Ends the work that a test has left, such as that of a process which died in it. It would turn for as long as this process. */
import { afterEach } from "vitest";
import { workUnderWay } from "./left-work.ts";

afterEach(() => {
  for (const end of workUnderWay) end();
});
