/** Kinds of things that have ids of their own in this shape. */
export type IdKind = 'resp' | 'msg' | 'rs' | 'fc' | 'ctc' | 'ig' | 'st';

/** The id of an answer: that of the generation, in this shape's spelling. */
export function responseId(generationId: string): string {
  return `resp_${tailOf(generationId)}`;
}

/** The id of an item, which is the same however often it is asked for. */
export function itemId(kind: IdKind, generationId: string, outputIndex: number): string {
  return `${kind}_${tailOf(generationId)}_${outputIndex}`;
}

/** True for an item's id that was made here: nobody else knows it, so it need not go back to a provider. */
export function isOwnItemId(id: string): boolean {
  return /^[a-z]{2,3}_\d+-\w+_\d+$/.test(id);
}

function tailOf(generationId: string): string {
  return generationId.replace(/^gen-/, '');
}
