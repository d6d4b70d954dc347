/** Bytes in which a page says how it is written. */
const DECLARED_WITHIN = 2_048;

const MARKS: readonly (readonly [mark: string, label: string])[] = [
  ['\u00ef\u00bb\u00bf', 'utf-8'],
  ['\u00ff\u00fe', 'utf-16le'],
  ['\u00fe\u00ff', 'utf-16be'],
];

/**
 * Reads bytes as text: by their mark, by the header, by what the page itself declares, and else as UTF-8, or as
 * Windows-1252 if they are not that. Bytes that are no characters become replacement characters.
 */
export function decodeText(body: Uint8Array, contentType: string | undefined): string {
  const start = String.fromCharCode(...body.subarray(0, DECLARED_WITHIN));
  const marked = MARKS.find(([mark]) => start.startsWith(mark))?.[1];
  const declared = marked ?? labelIn(contentType ?? '') ?? labelInside(start);
  const decoder = declared === undefined ? undefined : decoderFor(declared);
  if (decoder !== undefined) return decoder.decode(body);
  return isUtf8(body) ? new TextDecoder().decode(body) : new TextDecoder('windows-1252').decode(body);
}

/** `charset=` of a header or of a `meta` element, or `encoding=` of an XML declaration. */
function labelIn(text: string): string | undefined {
  return /(?:charset|<\?xml[^>]{0,100}encoding)\s*=\s*["']?\s*([\w.:-]{2,40})/i.exec(text)?.[1];
}

/** A page that can say in ASCII that it is UTF-16 is not. */
function labelInside(start: string): string | undefined {
  const label = labelIn(start);
  return label !== undefined && /^utf-?16/i.test(label) ? 'utf-8' : label;
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

/** The end is left out: it may have been cut off within a character. */
function isUtf8(body: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: true });
    return true;
  } catch {
    return false;
  }
}
