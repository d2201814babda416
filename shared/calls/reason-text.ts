/** Sentences and facts of a reason, for operators. */
export interface ReasonText {
  /** Its meaning, in one sentence. Absent: no row has it. */
  means?: string;
  /** Sentence on calls that it blocks, with the name of the pause, breaker, rule, account or check. */
  holds?(name: string): string;
  /** The one who ends the wait. Absent: the calls before. */
  endedBy?: "person" | "provider" | "time";
  /** Present: calls only wait for their turn at the account. */
  isTurn?: true;
  /** Present: its name is the account's. */
  isOfAccount?: true;
  /** Its name in a count of what an account uses of the limit: `3 of 10 live calls`. */
  counts?: string;
  /** Present: nobody dispatches a call that it blocks, so the call is not rejected either. */
  stops?: true;
}

/** Texts by reason. Reasons only inform: nothing is dialed or ended by them. */
export type Texts = Readonly<Record<string, ReasonText>>;
