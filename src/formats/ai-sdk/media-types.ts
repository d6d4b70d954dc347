/** Media types of files that come without one. */

/**
 * The type of a file by its first bytes, where the program said only of what kind it is: `image`, or `image/*`.
 *
 * @param usual - Subtype where these do not say it. Default: the commonest of the kind.
 */
export function likelyType(base64: string, mediaType: string, usual?: string): string {
  const [kind, subtype = '*'] = mediaType.split('/');
  if (subtype !== '*') return mediaType;
  const [, found] = FIRST_BYTES.find(([start, type]) => type.startsWith(`${kind}/`) && base64.startsWith(start)) ?? [];
  return found ?? `${kind}/${usual ?? USUAL_SUBTYPE[kind ?? ''] ?? 'octet-stream'}`;
}

const FIRST_BYTES: readonly (readonly [string, string])[] = [
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['iVBOR', 'image/png'],
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['//', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnUw', 'audio/ogg'],
  ['JVBERi', 'application/pdf'],
];

const USUAL_SUBTYPE: Readonly<Record<string, string>> = {
  image: 'png',
  audio: 'mpeg',
  video: 'mp4',
  text: 'plain',
};
