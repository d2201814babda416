import type { CallsPage, CallView } from "#shared/answers/answers.ts";
import { exitUnlessAgreed } from "./agree.ts";
import type { CommandDeps } from "./command.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import type { Values } from "./options.ts";
import { barOf } from "./terminal.ts";
import { readTypedNumbers } from "./typed-numbers.ts";

/** Maximum calls of one answer. */
export const pageCallsMax = 200;

/** Yields the calls that a list's options choose, page after page. */
export async function* listCalls(
  values: Values,
  { ask, terminal }: CommandDeps,
  pageCalls = pageCallsMax,
): AsyncGenerator<CallView> {
  const { state, request, agent, account, reason, from, until } = values;
  const [number] =
    values.number === undefined
      ? []
      : await readTypedNumbers([values.number], values, { ask, terminal });
  const { client, campaign } = values;
  const filters = {
    state,
    request_id: request,
    client,
    campaign,
    agent_id: agent,
    account,
    reason,
    from,
    until,
  };
  const given = Object.entries(filters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  let cursor: string | undefined;
  do {
    const place: [string, string][] = cursor === undefined ? [] : [["cursor", cursor]];
    const query = new URLSearchParams([...given, ...place, ["limit", String(pageCalls)]]);
    const page: CallsPage =
      number === undefined
        ? await ask(`/calls?${query.toString()}`)
        : await ask("/calls/search", { phone_number: number, ...Object.fromEntries(query) });
    if (page.unreadable !== undefined) {
      terminal.complain(
        `${page.unreadable} calls left out: a later version of the service wrote them.`,
      );
    }
    yield* page.calls;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** A call as it was listed. Empty for one that was named by its id. */
type Seen = Partial<Pick<CallView, "updated_at">>;

interface Acts {
  values: Values;
  perform(id: string, seen: Seen): Promise<object>;
  /** Describes a grave action on so many calls, before which a person is asked. */
  does?(count: number): string;
}

/**
 * Performs an action on each of many calls, either the named ones or those that the options choose, and
 * reports refusals.
 */
export async function forEach(
  ids: string[],
  { values, perform, does }: Acts,
  { ask, terminal }: CommandDeps,
): Promise<number> {
  const chosen: { id: string; seen: Seen }[] = ids.map((id) => ({ id, seen: {} }));
  if (ids.length === 0) {
    if (values.state === undefined && values.request === undefined) {
      // The list of all calls is long, and only few of them are meant.
      throw new Misuse("Name calls by their ids, or choose them by --state or --request.");
    }
    // All ids are read first: an action on a call removes it from the list that is being read.
    for await (const { id, updated_at } of listCalls(values, { ask, terminal })) {
      chosen.push({ id, seen: { updated_at } });
    }
  }
  if (does !== undefined && chosen.length > 0) {
    const act = { does: does(chosen.length), answer: { calls: chosen.length } };
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
  }
  const bar = barOf(chosen.length, values, terminal);
  const refused: string[] = [];
  let done = 0;
  let failure: Failure | undefined;
  for (const { id, seen } of chosen) {
    try {
      const answer = await perform(encodeURIComponent(id), seen);
      if (values.json === true) terminal.print(JSON.stringify(answer));
      done++;
    } catch (error) {
      if (error instanceof Refusal) refused.push(`${id}: ${error.message}`);
      else if (error instanceof Failure) failure = new Failure(`${id}: ${error.message}`);
      else throw error;
    }
    bar.update(done + refused.length);
    if (failure !== undefined) break; // the service is failing: the remaining calls are left unchanged
  }
  bar.stop();
  for (const line of refused) terminal.complain(line);
  if (values.json !== true) terminal.print(`${done} done, ${refused.length} refused.`);
  if (failure !== undefined) throw failure;
  return refused.length > 0 ? 2 : 0;
}
