/**
 * Tokens that a prompt of this many characters has at least. English text has four to five characters a token and
 * code fewer, so one in eight is a floor. It only serves to turn away endpoints that certainly cannot hold a prompt.
 */
export function fewestTokens(characters: number): number {
  return Math.floor(characters / 8);
}

/** The likely number of tokens in a text, for usage that a provider did not report. */
export function likelyTokens(text: string): number {
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) >= FIRST_WIDE) wide += 1;
  return Math.ceil((text.length - wide) / 4 + wide);
}

/** First character of the scripts in which a character is about a token: Hangul, kana, Han and beyond. */
const FIRST_WIDE = 0x1100;
