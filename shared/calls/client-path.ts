/** Begins the part of a path that names a client in base64url. */
const encoded = "~";

/**
 * Returns the part of a path that names a client, with a colon as tests' clients have. No path of the service is
 * percent-encoded: a name that would need it stands in base64url.
 */
export function clientInPath(client: string): string {
  const isPlain = !encodeURIComponent(client.replaceAll(":", "")).includes("%");
  // A path with a part of dots alone is another path.
  if (isPlain && !/^(~|\.+$)/.test(client)) return client;
  const bytes = Array.from(new TextEncoder().encode(client), (byte) => String.fromCharCode(byte));
  const text = btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_");
  return encoded + text.replaceAll("=", "");
}

/** Parses what `clientInPath` made. Text that it did not make is returned as it is. */
export function clientOfPath(part: string): string {
  if (!part.startsWith(encoded)) return part;
  try {
    const binary = atob(part.slice(encoded.length).replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder().decode(Uint8Array.from(binary, (byte) => byte.charCodeAt(0)));
  } catch {
    return part;
  }
}
