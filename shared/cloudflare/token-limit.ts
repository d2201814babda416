/** Returns a limit of requests for each token, where wrangler.toml has one. Each of Cloudflare's locations counts by itself. */
export function createTokenLimit(binding: RateLimit | undefined) {
  if (binding === undefined) return undefined;
  return async (tokenId: string): Promise<boolean> =>
    (await binding.limit({ key: tokenId })).success;
}
