/** Wrong usage, or a service that does not answer as it should: exit code 1. */
export class Failure extends Error {}
/** What the service refused: exit code 2. */
export class Refusal extends Error {}
