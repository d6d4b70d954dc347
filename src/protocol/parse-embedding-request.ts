import {
  type EmbeddingInput,
  type EmbeddingItem,
  type EmbeddingRequest,
  embeddingRequestSchema,
  multimodalInputSchema,
} from './embedding.ts';
import { type Checked, failed, faultAt, passed, type RequestFault } from './fault.ts';
import { nameOf } from './issues.ts';
import { inspectJson, isJsonObject } from './json.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';
import { read } from './accept/schema.ts';

/** Fields of chat requests that would do nothing here, and must not reach a provider as if they were its own. */
const CHAT_ONLY: Readonly<Record<string, string>> = {
  messages: 'belongs to chat requests; what is to be embedded goes into input',
  tools: 'belongs to chat requests; embeddings call no tools',
  plugins: 'belongs to chat requests; plugins do not run for embeddings',
  preset: 'belongs to chat requests; presets do not apply to embeddings',
};

/** Checks the body of `POST /embeddings` (gaps 10). What is wrong comes back as data, with status 400. */
export function parseEmbeddingRequest(
  body: unknown,
  limits: RequestLimits = DEFAULT_REQUEST_LIMITS,
): Checked<EmbeddingRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', `must be a JSON object with an "input", not ${nameOf(body)}`));
  const stray = Object.keys(CHAT_ONLY).find((name) => body[name] != null);
  if (stray !== undefined) return failed(faultAt(stray, CHAT_ONLY[stray] ?? ''));
  const { input, ...rest } = body;
  const inputFault = checkInput(input, limits);
  if (inputFault !== undefined) return failed(inputFault);
  const inspection = inspectJson(isTokenInput(input) ? rest : body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const parsed = read(embeddingRequestSchema, rest);
  if (!parsed.ok) return failed(faultAt(parsed.path, parsed.problem));
  if (!isMultimodalInput(input)) return passed({ ...parsed.value, input } as EmbeddingRequest);
  const multimodal = read(multimodalInputSchema, { input });
  if (!multimodal.ok) return failed(faultAt(multimodal.path, multimodal.problem));
  return passed({ ...parsed.value, ...multimodal.value } as unknown as EmbeddingRequest);
}

/** Forms of the items in an input that is a list. All items have the same one. */
type Form = 'text' | 'token' | 'tokens' | 'parts';

const FORM_NAMES: Readonly<Record<Form, string>> = {
  text: 'a string',
  token: 'a token, which is a whole number that is not negative',
  tokens: 'an array of tokens',
  parts: 'an object with content',
};

const FORMS = 'a string, an array of strings, an array of tokens, or an array of arrays of tokens';

/** Says what is wrong with an input. The parts of a multimodal one are left to their schema. */
function checkInput(input: unknown, limits: RequestLimits): RequestFault | undefined {
  if (typeof input === 'string') return input === '' ? faultAt('input', 'must not be empty') : undefined;
  if (input === undefined) return faultAt('input', `is required and must be ${FORMS}`);
  if (!Array.isArray(input)) return faultAt('input', `must be ${FORMS}, not ${nameOf(input)}`);
  const items: readonly unknown[] = input;
  if (items.length === 0) return faultAt('input', 'must have at least 1 item');
  const form = formOf(items[0]);
  if (form === undefined) return faultAt('input[0]', `must be a string or tokens, not ${nameOf(items[0])}`);
  const most = form === 'token' ? limits.embeddingTokens : limits.embeddingInputs;
  if (items.length > most) return faultAt('input', tooMany(items.length, most, form === 'token' ? 'tokens' : 'items'));
  return checkItems(items, form, limits);
}

/** True for an input of tokens. {@link checkInput} has looked at each of them already, and there may be very many. */
function isTokenInput(input: unknown): boolean {
  const first: unknown = Array.isArray(input) ? input[0] : undefined;
  return typeof first === 'number' || Array.isArray(first);
}

/** True for an input made of parts. */
function isMultimodalInput(input: unknown): boolean {
  return Array.isArray(input) && isJsonObject(input[0]);
}

/** What becomes one vector each. */
export function itemsOf(input: EmbeddingInput): readonly EmbeddingItem[] {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'number' ? [input as readonly number[]] : (input as readonly EmbeddingItem[]);
}

function formOf(item: unknown): Form | undefined {
  if (typeof item === 'string') return 'text';
  if (typeof item === 'number') return 'token';
  if (Array.isArray(item)) return 'tokens';
  return isJsonObject(item) ? 'parts' : undefined;
}

function checkItems(items: readonly unknown[], form: Form, limits: RequestLimits): RequestFault | undefined {
  let tokens = 0;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (formOf(item) !== form || (form === 'token' && !isToken(item))) {
      return faultAt(`input[${index}]`, `must be ${FORM_NAMES[form]}${likeTheFirst(index)}, not ${nameOf(item)}`);
    }
    if (item === '') return faultAt(`input[${index}]`, 'must not be empty');
    if (form !== 'tokens') continue;
    const list = item as readonly unknown[];
    if (list.length === 0) return faultAt(`input[${index}]`, 'must have at least 1 token');
    tokens += list.length;
    if (tokens > limits.embeddingTokens) return faultAt('input', tooMany(tokens, limits.embeddingTokens, 'tokens'));
    const wrong = list.findIndex((one) => !isToken(one));
    if (wrong >= 0) {
      return faultAt(`input[${index}][${wrong}]`, `must be ${FORM_NAMES.token}, not ${nameOf(list[wrong])}`);
    }
  }
  return undefined;
}

function likeTheFirst(index: number): string {
  return index === 0 ? '' : ', like the items before it';
}

function isToken(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function tooMany(count: number, most: number, what: string): string {
  return `must have at most ${most.toLocaleString('en-US')} ${what}, not ${count.toLocaleString('en-US')}`;
}
