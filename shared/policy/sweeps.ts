/** Names the document of the sweeps: their lease, their progress and the ledger's epoch. */
export const sweepKey = { kind: "sweep", key: "sweep" } as const;
/** Names the document of the upkeep, which sweeps do beside their rows. */
export const upkeepKey = { kind: "upkeep", key: "upkeep" } as const;
