/**
 * Tokens that a prompt of this many characters has at least. English text has four to five characters a token and
 * code fewer, so one in eight is a floor. It only serves to turn away endpoints that certainly cannot hold a prompt.
 */
export function fewestTokens(characters: number): number {
  return Math.floor(characters / 8);
}

/** The likely number of tokens in a prompt of which only the floor is known, for prices and estimates. */
export function likelyPromptTokens(fewest: number): number {
  return fewest * 2;
}

/** The likely number of tokens in a text, for usage that a provider did not report. */
export function likelyTokens(text: string): number {
  return Math.ceil(quarterTokens(text) / 4);
}

/** The same in quarters of a token: a whole number, so that the parts of a text add up to the text. */
export function quarterTokens(text: string): number {
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) >= FIRST_WIDE) wide += 1;
  return text.length + 3 * wide;
}

/** First character of the scripts in which a character is about a token: Hangul, kana, Han and beyond. */
const FIRST_WIDE = 0x1100;
