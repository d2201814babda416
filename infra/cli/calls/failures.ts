/** Wrong usage, or an unexpected answer of the service: exit code 1. */
export class Failure extends Error {}
/** A refusal by the service: exit code 2. */
export class Refusal extends Error {}
