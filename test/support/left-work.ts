/** Functions that each end work in simulated time that is under way. */
export const workUnderWay = new Set<() => void>();
