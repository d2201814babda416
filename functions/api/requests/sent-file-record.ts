/** The record of a file of leads that a client sends in parts, and its changes. */
import { hourMs } from "#shared/lib/units.ts";
import type { DocumentKey, ValueOf } from "#shared/ports/document-kinds.ts";
import { keyLifetimeMs } from "../calls/idempotency.ts";
import type { RouteDeps } from "../http/context.ts";
import { toIsoTime } from "../http/fields.ts";

/**
 * A part may be repeated under its key until this time before the key's earliest expiry, because clocks differ and
 * requests take time.
 */
const marginMs = hourMs;

export type SentFile = ValueOf<"sent-file">;
export type SentPart = SentFile["parts"][number];

/** Fields of a part of which no request was sent. */
const planned = { begunAt: null, leftOut: "", content: null, attempt: null };

type Step =
  | { state: "begun"; index: number; content: string; left_out: string; attempt: string }
  | { state: "refused"; attempt: string }
  | { state: "sent"; request_id: string | null }
  | { state: "planned" };

/** Returns a part after a step, the same part if nothing changes, or why the step is refused. */
export function mark(part: SentPart, step: Step, deps: RouteDeps): SentPart | string {
  if (part.isSent) return part;
  if (step.state === "sent") return { ...part, isSent: true, requestId: step.request_id };
  if (step.state === "planned") {
    if (part.begunAt === null) return part;
    if (!isLost(part, deps))
      return "The part may be repeated under its Idempotency-Key: that is safer.";
    // While the key may live, the same content calls nobody twice, even if the person is wrong.
    const now = deps.clock.now();
    return now > part.begunAt + keyLifetimeMs + marginMs
      ? { ...part, ...planned }
      : { ...part, begunAt: now, attempt: null };
  }
  if (step.state === "refused") {
    // Another run may have sent the part too, and may still be accepted.
    return part.attempt === step.attempt ? { ...part, ...planned } : part;
  }
  const contents = deps.hashes.each(`content ${step.content}`);
  const [content = ""] = contents;
  if (part.begunAt === null) {
    const { left_out: leftOut, attempt } = step;
    return { ...part, begunAt: deps.clock.now(), leftOut, content, attempt };
  }
  if (isLost(part, deps)) {
    return (
      `Part ${step.index + 1} was begun at ${toIsoTime(part.begunAt)}, and its answer was lost too long ago to repeat it. ` +
      "Look among the campaign's requests of that time, and say whether it was accepted."
    );
  }
  if (part.content !== null && contents.includes(part.content)) {
    return part.attempt === null || part.attempt === step.attempt
      ? part
      : { ...part, attempt: null };
  }
  return `Part ${step.index + 1} was begun with other content: choose the same columns and agent as then.`;
}

/**
 * True if repeating a part can no longer show whether it was accepted. Its Idempotency-Key lives from its first
 * request on, which is no earlier than `begunAt`.
 */
export function isLost({ isSent, begunAt }: SentPart, { clock }: RouteDeps): boolean {
  return !isSent && begunAt !== null && clock.now() > begunAt + keyLifetimeMs - marginMs;
}

interface Asked {
  client: string;
  campaign: string;
  parts: readonly { digest: string; calls: number }[];
}

export function createFile(
  { client, campaign: name, parts, round: of }: Asked & { round: number },
  deps: RouteDeps,
): SentFile {
  const { clock, hashes } = deps;
  return {
    client,
    campaign: name,
    round: of,
    at: clock.now(),
    parts: parts.map((part) => ({
      key: hashes.current(partText({ client, campaign: name, round: of, digest: part.digest })),
      calls: part.calls,
      ...planned,
      isSent: false,
      requestId: null,
    })),
  };
}

/** Returns why a file that was sent or begun is not sent now; undefined if sending continues. */
export function findRefusal(
  current: SentFile,
  { client, campaign: name, parts }: Asked,
  { hashes }: RouteDeps,
): string | undefined {
  const { round: of, campaign: first } = current;
  const when = `${toIsoTime(current.at)} as campaign ${first}`;
  if (current.parts.every(({ isSent }) => isSent)) {
    return `This file was sent at ${when}. Nobody in it is called again, unless you ask for that.`;
  }
  if (first !== name) return `This file was begun at ${when}: continue under that name.`;
  const isSame =
    parts.length === current.parts.length &&
    parts.every(({ digest: numbers }, index) =>
      hashes
        .each(partText({ client, campaign: name, round: of, digest: numbers }))
        .includes(current.parts[index]?.key ?? ""),
    );
  return isSame
    ? undefined
    : `This file was begun at ${when}, in other parts: choose the same columns, agent and rows as then.`;
}

function partText({
  client,
  campaign: name,
  round: of,
  digest: numbers,
}: {
  client: string;
  campaign: string;
  round: number;
  digest: string;
}): string {
  return JSON.stringify(["sent-part", client, name, of, numbers]);
}

/**
 * Reads the record of a file under all known keys, and names its document under the current key. So a record that
 * changes outlives the former key.
 */
export async function readFile(
  of: { client: string; file: string },
  { documents, hashes }: RouteDeps,
): Promise<{ name: DocumentKey<"sent-file">; value: SentFile | undefined }> {
  const text = JSON.stringify(["sent-file", of.client, of.file]);
  const toName = (key: string) => ({ kind: "sent-file" as const, key });
  const names = hashes.each(text).map(toName);
  const read = await documents.read(names);
  const found = names.find(({ kind, key }) => read.get(kind, key) !== undefined);
  const value = found && read.get(found.kind, found.key)?.value;
  return { name: toName(hashes.current(text)), value };
}

/** Stores a record as long as the calls of the file, from its last change on. */
export function toStored(value: SentFile, { clock, retentionMs }: RouteDeps) {
  return { value, expiresAt: clock.now() + retentionMs };
}
