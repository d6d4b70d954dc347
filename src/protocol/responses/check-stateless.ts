import { type RequestFault, faultAt } from '../fault.ts';
import { isJsonObject, type JsonObject } from '../json.ts';

/** Fields that refer to something stored, with what to do instead. */
const STORED: readonly (readonly [string, string])[] = [
  ['previous_response_id', 'is not supported, because no answers are stored: send the whole conversation in input'],
  ['conversation', 'is not supported, because no conversations are stored: send the whole conversation in input'],
  ['prompt', 'is not supported, because no prompts are stored: send instructions and input'],
];

/** Finds what would need answers that are stored: this service keeps none (gaps 10). */
export function checkStateless(body: JsonObject): RequestFault | undefined {
  for (const [name, problem] of STORED) if (body[name] != null) return faultAt(name, problem);
  if (body['store'] != null && body['store'] !== false) {
    return faultAt('store', 'must be false or left out, because no answers are stored');
  }
  if (body['background'] != null && body['background'] !== false) {
    return faultAt(
      'background',
      'must be false or left out: an answer can only be given to the request that waits for it',
    );
  }
  const { input } = body;
  if (!Array.isArray(input)) return undefined;
  const index = input.findIndex(isReference);
  if (index < 0) return undefined;
  const problem = 'refers to an item of an earlier answer, but no answers are stored: send the item itself';
  return faultAt(`input[${index}]`, problem);
}

function isReference(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  if (item['type'] === 'item_reference') return true;
  return item['type'] == null && typeof item['id'] === 'string' && item['role'] === undefined;
}
