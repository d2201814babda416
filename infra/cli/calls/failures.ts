/** The service could not be reached, or failed: exit code 1. */
export class Failure extends Error {}
/** A refusal by the service: exit code 2. */
export class Refusal extends Error {}
/** Wrong usage, of which the service was not asked: exit code 2. */
export class Misuse extends Refusal {}
