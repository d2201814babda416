/**
 * Vitest's setup for the mutation tester: leaves out the tests that take half a second and more. A mutant that survives
 * would cost their time, and quicker tests show the same rules for one call.
 */
import { beforeEach } from "vitest";

const slow = [
  "are sent once each, and end PLACED if found and in review if not",
  "counts just the calls that may have been placed, for any answers and processes",
  "is full from the moment of a request on, though it was claimed seconds before",
  "is kept busy, never too busy, and first come first served",
  "is looked up or waits for review, call by call, in pages, until nothing more is found",
  "is sent what an idempotent provider may have lost again, whoever waits",
  "keeps its history short, however often its call is sent back",
  "leak nothing in a month in which results are lost",
  "lets so many calls go on a day, UTC, and has the others wait for the next",
  "nobody whom an operator or a callee has put onto the list is dialed",
  "takes 100 calls of two minutes within 44 minutes",
  "takes them within 44 minutes",
  "takes up a rate raised from 1 to 10 a second",
  "that keeps being not placed is tried ever more rarely, and ends EXPIRED",
];

beforeEach(({ task, skip }) => {
  if (slow.some((name) => task.name.includes(name))) skip();
});
