/** Control characters other than line ends and tabs, and halves of characters: some providers refuse a prompt with one. */
const NO_TEXT = /(?![\n\t])[\p{Cc}\p{Surrogate}]/gu;

/** The beginning of a text from outside, without characters that are no text. */
export function plainText(text: string, maxLength = Infinity): string {
  return text.slice(0, maxLength).replaceAll(/\r\n?/g, '\n').replaceAll(NO_TEXT, ' ').trim();
}
