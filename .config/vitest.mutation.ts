import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

/** Tests that notice most mutants. They run first, as the first failure ends a mutant's run. */
const first =
  /\/(chain|lost-claim|lost-time|restore-row|standard-webhooks|number-entries|cancellation|earlier-tries|provider-answer|refused-probe|due-rows|lease|sweep-live-calls|state-machine|states|transition-guards|claims|a-call|settlement|unknown|caps|look-up|orders|hours|splits|split-rounds|split-verdict|trace-context|encoding|call-spans|measured-times)\.test/;

class TelltalesFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]) {
    const isFirst = ({ moduleId }: (typeof files)[number]) => first.test(moduleId);
    return [...files.filter(isFirst), ...files.filter((file) => !isFirst(file))];
  }
}

/** The tests that `npm run mutants` runs for each mutant of its mutation tester: those of calls, splits and traces, without those of events. */
export default defineConfig({
  root: resolve(import.meta.dirname, ".."),
  test: {
    isolate: false,
    setupFiles: ["test/support/end-left-work.ts"],
    include: [
      "test/unit/calls/{chain,lost-claim,lost-time,restore-row,states}.test.ts",
      "test/unit/lib/standard-webhooks.test.ts",
      "test/unit/policy/{number-entries,split-rounds,split-verdict}.test.ts",
      "test/unit/dial-plan/splits.test.ts",
      "test/unit/dialer/{call-spans,measured-times,splits}.test.ts",
      "test/unit/traces/{encoding,trace-context}.test.ts",
      "test/unit/rules/{cancellation,earlier-tries}.test.ts",
      "test/unit/dialer/{due-rows,lease,provider-answer,refused-probe,sweep-live-calls}.test.ts",
      "test/unit/dialer/{a-call,account-days,call-backs,caps,checks,claims,delivery,erased-tries,erasures,expire-claims}.test.ts",
      "test/unit/dialer/{fresh-calls,hanging,hash-key-*,hours,last-look,look-up,orders,pace,pauses,redials}.test.ts",
      "test/unit/dialer/{restore,set-back,settle-surely,settlement,stage-errors,state-machine}.test.ts",
      "test/unit/dialer/{sweep,test-calls,transition-guards,tries,unknown,unreadable,wake-dispatcher}.test.ts",
      "test/simulation/{claimed,waiting}.test.ts",
    ],
    sequence: { sequencer: TelltalesFirst },
    testTimeout: 8_000,
  },
});
