/** Characters that two slices share, so that nothing hides at a cut. */
const OVERLAP = 200;

/** Cuts long texts into slices and leaves out blank ones. No character is cut in two. */
export function slicesOf(texts: readonly string[], length: number): readonly string[] {
  return texts.flatMap((text) => {
    if (text.trim() === '') return [];
    const slices: string[] = [];
    let start = 0;
    for (;;) {
      const end = wholeCharacter(text, start + length);
      slices.push(text.slice(start, end));
      if (end >= text.length) return slices;
      start = wholeCharacter(text, end - OVERLAP);
    }
  });
}

function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
