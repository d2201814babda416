#!/usr/bin/env node
/**
 * `npm run calls -- COMMAND …`: lists calls and decides about them, through the operator's API of the service
 * at OUTBOUND_CALLS_URL, with the token in OUTBOUND_CALLS_OPERATOR_TOKEN.
 */
import { realpathSync } from "node:fs";
import packageJson from "#package.json" with { type: "json" };
import { callStates } from "#shared/calls/states.ts";
import { bulkCommands } from "./calls/bulk-command.ts";
import { callCommands } from "./calls/call-commands.ts";
import { createClient } from "./calls/client.ts";
import { completionCommands } from "./calls/completion-command.ts";
import type { Command } from "./calls/command.ts";
import { Failure, Misuse, Refusal } from "./calls/failures.ts";
import { deadLetterCommands } from "./calls/dead-letter-commands.ts";
import { forecastCommands } from "./calls/forecast-command.ts";
import { helpOf } from "./calls/help-texts.ts";
import { listCommands } from "./calls/list-commands.ts";
import { nearestTo } from "./calls/nearest.ts";
import { parse, requireArgs } from "./calls/options.ts";
import { requestCommands } from "./calls/request-command.ts";
import { sendCommands } from "./calls/send-command.ts";
import { restoreCommands } from "./calls/restore-commands.ts";
import type { Terminal } from "./calls/terminal.ts";
import { processTerminal } from "./calls/process-terminal.ts";
import { tokenCommands } from "./calls/token-commands.ts";
import { usageCommands } from "./calls/usage-command.ts";
import { waitingCommands } from "./calls/waiting-commands.ts";
import { watchCommands } from "./calls/watch-commands.ts";

const { version } = packageJson;

const usage = `npm run calls -- COMMAND [OPTIONS]

  list     [--state STATE] [--request ID] [--number NUMBER] [--client CLIENT] [--campaign CAMPAIGN]
           [--agent AGENT] [--account ACCOUNT] [--reason REASON] [--from TIME] [--until TIME] [--limit N]
  show     ID [--reveal]                      one call with its history; --reveal adds its number and context
  request  ID                                 the progress of a request, until it is finished
  requests [--client CLIENT] [--campaign CAMPAIGN] [--agent AGENT] [--calls-min N] [--limit N]
                                              progress of requests
  campaigns [CAMPAIGN --client CLIENT]        the campaigns, or the progress of one
  watch    [requests|campaigns|needs]         refreshes the table until Ctrl-C; in a pipe: one line of JSON per change
  forecast --file FILE [--client CLIENT] [--at TIME] [--plan FILE] [--items problems|all] [--country COUNTRY]
           [--agent AGENT] [--map ROLE=COLUMN]
                                              when calls would be dialed; --file: CSV of leads, or JSON as posted
  send     FILE --campaign CAMPAIGN --client CLIENT [--country COUNTRY] [--agent AGENT] [--map ROLE=COLUMN]
           [--refused FILE] [--again] [--lost accepted|not-accepted] [--yes]
                                              a CSV or JSON of leads as one campaign; without --yes it only checks them
  redial   ID… | --state STATE [as list]      [--not-placed], required for NEEDS_REVIEW
  resolve  ID… | --state NEEDS_REVIEW [as list]   --placed | --not-placed
  cancel   ID… | --request ID | --agent AGENT
                                              calls that are WAITING
  bulk     cancel | placed | close | redial  [--state STATE] [--client CLIENT] [--campaign CAMPAIGN]
           [--agent AGENT] [--account ACCOUNT] [--reason REASON] [--request ID] [--from TIME] [--until TIME]
           [--not-placed] [--dry-run] [--yes]
                                              counts the calls that match, asks, and acts on all of them
  pause    --agent AGENT | --account ACCOUNT | --client CLIENT   [--reason REASON] [--until TIME]
                                              keeps calls WAITING
  resume   --agent AGENT | --account ACCOUNT | --client CLIENT | --breaker KEY
  pauses                                      the pauses and the open circuit breakers
  backlogs [--limit N]                        waiting calls by client and agent, and what blocks them
  stats    [--hours N]                        calls by state and hour
  splits                                      the arms of the plan's splits, their results, and the verdict
  usage    [--from DATE] [--until DATE] [--by client|day|agent|campaign] [--client CLIENT]
                                              sums calls, seconds and cost; days are in UTC; --csv for spreadsheets
  dnc      add|remove|check NUMBER… | --file FILE [--client CLIENT] [--country COUNTRY] [--map number=COLUMN]
           [--refused FILE] [--renew]
                                              the do-not-call list; a file has numbers, a table, or the FTC's format
  dead     list | show NAME [--reveal] | put-back NAME… | put-back --all | discard NAME… --yes
                                              messages that failed a hundred times: put-back sends them again,
                                              discard removes them permanently, with the calls that they carry
  dnc      retire-former-key                  ends a rotation of HASH_KEY: retires the former key
  erase    NUMBER…                            erases what is known of the numbers, and cancels their waiting calls
  clients  [list] | put CLIENT [--agents AGENT,…] [--calls-per-day N] [--waiting N] [--reuse] | remove CLIENT
           | receivers CLIENT [--delete RECEIVER]   [--yes]
                                              clients whose tokens you make here
  tokens   [list] [--client CLIENT] | revoke ID [--yes]
           | make --client CLIENT [--agents AGENT,…] [--rights RIGHT,…] [--mode test] [--not-after TIME]
  restored [--at TIME] [--unnoticed]          after a restore of the ledger: to what time it went back
  audit    [--clients] [--token ID] [--action ACTION] [--target TEXT] [--from TIME] [--until TIME] [--limit N]
                                              the audit log: what operators did; --clients: what clients did

  States: ${callStates.join(", ")}.
  Upper and lower case are the same. In a pipe, tables have one row per line, with tabs between cells.

  completion bash|zsh|fish                    a script that completes commands and options

  --version  the version of this command
  --json   for scripts: one JSON value per line instead of tables; npm run -s hides npm's own lines
  --csv    lists, dnc check, erase and forecast as comma-separated values
  --yes, --dry-run   bulk, redial, cancel, erase, dnc remove, tokens revoke and other serious commands count first or ask;
           --yes agrees, and is needed where nobody can be asked; --dry-run only counts
  --file - is stdin. COMMAND --help shows a command's options, and an example.

Environment: OUTBOUND_CALLS_URL, such as https://calls.example.com; OUTBOUND_CALLS_OPERATOR_TOKEN.
Exit code: 0 done; 1 the service failed or refused the token; 2 wrong usage, nobody agreed, or it refused something.`;

export const commands: Record<string, Command> = {
  ...callCommands,
  ...bulkCommands,
  ...waitingCommands,
  ...listCommands,
  ...forecastCommands,
  ...sendCommands,
  ...requestCommands,
  ...restoreCommands,
  ...deadLetterCommands,
  ...watchCommands,
  ...tokenCommands,
  ...usageCommands,
  ...completionCommands,
};

/** Runs one command and resolves to its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const [command = "", ...rest] = positionals;
    if (values.version === true) {
      terminal.print(version);
      return 0;
    }
    if (command === "") {
      terminal.print(usage);
      return values.help === true ? 0 : 2;
    }
    const perform = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (perform === undefined) {
      const near = nearestTo(command, Object.keys(commands));
      const hint = near === undefined ? "See npm run calls -- --help." : `Did you mean ${near}?`;
      throw new Misuse(`There is no command ${command}. ${hint}`);
    }
    if (values.help === true) {
      terminal.print(helpOf(command));
      return 0;
    }
    requireArgs(command, rest);
    return await perform(rest, values, { ask: createClient(terminal), terminal });
  } catch (error) {
    if (!(error instanceof Failure || error instanceof Refusal)) throw error;
    terminal.complain(error.message);
    return error instanceof Refusal ? 2 : 1;
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  process.exitCode = await run(process.argv.slice(2), processTerminal());
}
