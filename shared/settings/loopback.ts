/**
 * True if clients' own receivers may be on this machine: `npm start` alone sets LOOPBACK_RECEIVERS. A deployed function
 * that set it would let clients reach what runs beside it.
 */
export function permitsLoopback({
  LOOPBACK_RECEIVERS,
}: Record<string, string | undefined>): boolean {
  return LOOPBACK_RECEIVERS === "true";
}
