/** Which part of an answer a signature came with. */
type SignedPart =
  /** A stretch of the content, in UTF-16 units. */
  | { readonly type: 'text'; readonly start: number; readonly end: number }
  /** An image, counted from 0. */
  | { readonly type: 'image'; readonly position: number };

/** Id of the reasoning detail that carries the signature of a stretch of the content, in UTF-16 units. */
export function textId(start: number, end: number): string {
  return `text:${start}-${end}`;
}

/** Id of the reasoning detail that carries the signature of an image, counted from 0. */
export function imageId(position: number): string {
  return `image:${position}`;
}

/** What {@link textId} or {@link imageId} wrote; undefined for the id of a tool call. */
export function readSignedPart(id: string): SignedPart | undefined {
  const [, kind, first = '', last = ''] = PART_ID.exec(id) ?? [];
  if (kind === 'image') return { type: 'image', position: Number(first) };
  return kind === 'text' ? { type: 'text', start: Number(first), end: Number(last) } : undefined;
}

const PART_ID = /^(text|image):(\d{1,10})(?:-(\d{1,10}))?$/;
