/** How a moderation service is asked about a request: loaded by the first one that is moderated. */
import type { ModerationInput, ModerationVerdict } from '../../contracts/plugin-services.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';

/** Makes one call of the service and gives its answer. */
export type Judge = (input: JsonValue, signal: AbortSignal, refusedInput?: string) => Promise<JsonObject>;

/** Characters of one text that is judged; longer ones are cut, with an overlap. */
const SLICE_LENGTH = 8_000;
/** Texts that are judged in one call. */
const SLICES_A_CALL = 16;

/** Shows the texts and pictures of a request to the service, until something is flagged. */
export async function judgeInput(call: Judge, { texts, images, signal }: ModerationInput): Promise<ModerationVerdict> {
  const judge = async (...given: Parameters<Judge>): Promise<readonly JsonObject[]> => resultsOf(await call(...given));
  const slices = slicesOf(texts, SLICE_LENGTH);
  for (let start = 0; start < slices.length; start += SLICES_A_CALL) {
    const part = slices.slice(start, start + SLICES_A_CALL);
    const results = await judge(part, signal);
    if (results.length !== part.length) throw unreadable();
    const flagged = results.findIndex((result) => result['flagged'] === true);
    const result = results[flagged];
    if (result !== undefined) return { flagged: true, reasons: reasonsOf(result), text: part[flagged] };
  }
  for (const image of images) {
    const input = [{ type: 'image_url', image_url: { url: image } }];
    const [result] = await judge(input, signal, 'A picture of the request is not accepted by the moderation service');
    if (result === undefined) throw unreadable();
    if (result['flagged'] === true) return { flagged: true, reasons: reasonsOf(result) };
  }
  return { flagged: false };
}

/** An answer that does not say clearly that nothing was flagged must not let anything through. */
function resultsOf({ results }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(results)) throw unreadable();
  return results.map((result) => {
    if (!isJsonObject(result) || typeof result['flagged'] !== 'boolean') throw unreadable();
    return result;
  });
}

function reasonsOf({ categories }: JsonObject): readonly string[] {
  if (!isJsonObject(categories)) return [];
  return Object.keys(categories).filter((name) => categories[name] === true);
}

function unreadable(): RouterError {
  return errorOf(502, 'The moderation service openai gave an answer that says nothing');
}

/** Characters that two slices share, so that nothing hides at a cut. */
const OVERLAP = 200;

/** Cuts long texts into slices and leaves out blank ones. No character is cut in two. */
function slicesOf(texts: readonly string[], length: number): readonly string[] {
  return texts.flatMap((whole) => {
    if (whole.trim() === '') return [];
    const slices: string[] = [];
    let start = 0;
    for (;;) {
      const end = wholeCharacter(whole, start + length);
      slices.push(whole.slice(start, end));
      if (end >= whole.length) return slices;
      start = wholeCharacter(whole, end - OVERLAP);
    }
  });
}

function wholeCharacter(whole: string, at: number): number {
  const code = whole.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
