/** A campaign's name: 1 to 64 characters without control or format characters, and without spaces at its ends. */
export const campaignPattern = /^(?! )(?:[^\p{C}\p{Z}]| ){1,64}(?<! )$/u;

/** Returns the value of `Call-Campaign` for a name. One beyond ASCII is encoded as RFC 8187 does: `UTF-8''Fr%C3%BChling`. */
export function toCampaignHeader(name: string): string {
  if (/^[ -~]*$/.test(name) && !/^UTF-8'/i.test(name)) return name;
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `UTF-8''${encoded}`;
}
