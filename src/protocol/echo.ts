/** Characters of what a caller sent that an error may repeat. */
const MAX_ECHO = 100;
/** Shares of that, for errors that repeat a key that the caller made up and the value under it. */
const MAX_KEY = 32;
const MAX_VALUE = 64;

/** A name of the caller without quotes, cut to what an error may repeat. */
export function shortened(name: string): string {
  return cut(name, MAX_ECHO);
}

/** A text of the caller in quotes, cut to what an error may repeat. */
export function echo(text: string): string {
  return JSON.stringify(cut(text, MAX_VALUE));
}

/** A key of the caller, cut to what an error may repeat. */
export function echoKey(key: string): string {
  return cut(key, MAX_KEY);
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
