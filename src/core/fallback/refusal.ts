/**
 * Reads from a provider's refusal which word of a request it does not take, and makes of an endpoint one that is not
 * called with it. Loaded when something was refused. Only what a closed table names is left out: never a limit, a tool,
 * a schema or a message, and nothing that may protect somebody. Of a schema only words that its descriptions can say as
 * well.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { ALL_PARAMETERS, type ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { NO_CONDITION, OTHER_VALUES, REFUSED_SCHEMA_WORDS, REFUSED_WORDS } from './refused-wordings.ts';
import { mayHoldWords } from './request-texts.ts';
import type { AttemptFailure, FailureKind, RefusedWord } from '../../contracts/failure.ts';

/** Kinds that a refusal of one word may be taken for. */
const KINDS: ReadonlySet<FailureKind> = new Set(['unsupported_parameter', 'invalid_request', 'unprocessable']);

/**
 * All that may be left out, and whose later requests go without it: the request means the same, less exactly. Whatever is
 * not here stays, because it may protect somebody: limits, tools, schemas, forms, `store`, safety, tiers, retention. For
 * all accounts only what changes neither what an answer costs nor where it ends.
 */
const OPTIONAL: Readonly<Partial<Record<ParameterName, 'account' | 'all'>>> = {
  temperature: 'all',
  top_p: 'all',
  top_k: 'all',
  min_p: 'all',
  top_a: 'all',
  frequency_penalty: 'all',
  presence_penalty: 'all',
  repetition_penalty: 'all',
  logprobs: 'all',
  top_logprobs: 'all',
  prediction: 'all',
  seed: 'all',
  verbosity: 'all',
  logit_bias: 'account',
  stop: 'account',
  parallel_tool_calls: 'account',
  reasoning: 'account',
  reasoning_effort: 'account',
};

/** Fields that codecs write besides parameters, and that may be left out. */
const FIELDS: ReadonlySet<string> = new Set(['user', 'user_id', 'stream_options', 'prompt_cache_key']);

/** Words that have no meaning without another one. */
const DEPENDENTS: Readonly<Record<string, readonly ParameterName[] | undefined>> = { logprobs: ['top_logprobs'] };

/** The only names that stand for each other. */
const OTHER_LIMITS: Readonly<Record<string, string | undefined>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
};

/**
 * Fields of a client that are never left out of its own request either: what they are called says that they may protect
 * somebody, limit something, or make it another request.
 */
const KEPT =
  /^(?:model|messages?|input|contents?|system|instructions|stream|metadata|store)$|max|min_|limit|budget|tool|function|schema|format|response|saf|guard|moder|filter|block|polic|priva|reten|retain|train|log|data|collect|zdr|tier|priority|region|geo|resid|secur|auth|user|ident|cache/;

/** Names of other wires for the same. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  stop_sequences: 'stop',
  'output_config.effort': 'reasoning_effort',
  'reasoning.effort': 'reasoning_effort',
  reasoning_budget: 'reasoning',
  thinking: 'reasoning',
  thinking_config: 'reasoning',
  'text.verbosity': 'verbosity',
  random_seed: 'seed',
  response_logprobs: 'logprobs',
};

/** Words that say that a parameter is the matter, where only a member beside the message names it. */
const ABOUT_WORD =
  /unsupported|not supported|not permitted|unrecognized|unknown|not allowed|supported values|extra_forbidden/i;
const ACCEPTED =
  /(?:supported values are|must be one of|expected one of|valid values are|allowed values are):? ?([^.]*)/i;
const INSTEAD = /use ["'`]?(\w+)["'`]? instead/i;

/** A name that an error gives, and what is known of it. */
interface NamedWord {
  readonly name: string;
  /** True where the error says that it is always so. */
  readonly isAlways: boolean;
}

/**
 * What a failed call says that its provider does not take; undefined where it names nothing that can be left out. It is
 * for this request alone where the error names a condition, refuses one value, or may repeat the request.
 */
export function refusalOf(
  failure: AttemptFailure,
  request: NormalizedRequest,
  endpoint: Endpoint,
): RefusedWord | undefined {
  const { status, kind, message } = failure;
  if ((status !== 400 && status !== 422) || !KINDS.has(kind) || request.preferences.requireParameters) return undefined;
  // A client's own body has its own schemas, and gets its provider's own answer.
  const isOwn = request.native !== undefined && endpoint.apiFormats.includes(request.native.apiFormat);
  const inSchema = isOwn ? undefined : refusedSchemaWords(message, request);
  if (inSchema !== undefined) return inSchema;
  for (const named of namedWords(failure)) {
    const refusal = readName(named, message, request);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** The names in an error: those that its message begins with, then the one in a member beside it. */
function namedWords({ message, providerCode = '', parameter }: AttemptFailure): readonly NamedWord[] {
  const named: NamedWord[] = [];
  for (const wording of REFUSED_WORDS) {
    const match = wording.message.exec(message);
    if (match === null) continue;
    const { word, other } = match.groups ?? {};
    const rest = message.slice(match[0].length);
    const isAlways =
      other === undefined && NO_CONDITION.test(rest) && (wording.isValue !== true || OTHER_VALUES.test(rest));
    for (const name of [word, other]) if (name !== undefined) named.push({ name, isAlways });
  }
  if (parameter !== undefined && ABOUT_WORD.test(`${providerCode} ${message}`)) {
    named.push({ name: parameter, isAlways: NO_CONDITION.test(message) });
  }
  return named;
}

function readName(
  { name: wireName, isAlways }: NamedWord,
  message: string,
  request: NormalizedRequest,
): RefusedWord | undefined {
  const snake = wireName.replace(/[a-z](?=[A-Z])/g, '$&_').toLowerCase();
  const name = OTHER_NAMES[snake] ?? snake;
  const reach = (most: 'account' | 'all'): RefusedWord['holdsFor'] =>
    isAlways && !mayHoldWords(request, [wireName]) ? most : 'request';
  if (isParameter(name)) {
    if (!isRequestedWith(name, request)) return undefined;
    const accepted = name === 'reasoning_effort' ? acceptedIn(message) : undefined;
    // A value that one model does not take says nothing of others, unless the error lists those.
    return {
      name,
      ...(accepted === undefined ? {} : { accepted }),
      holdsFor: reach(OPTIONAL[name] ?? 'account'),
    };
  }
  const instead = OTHER_LIMITS[name];
  if (instead !== undefined) {
    const isSaid = INSTEAD.exec(message)?.[1]?.toLowerCase() === instead;
    return isSaid && request.parameters.max_completion_tokens !== undefined
      ? { name, instead, holdsFor: reach('account') }
      : undefined;
  }
  if (FIELDS.has(name)) return { name, holdsFor: reach('account') };
  // What a client's field means is known to nobody here.
  return name in request.extra && !KEPT.test(name) ? { name, holdsFor: 'request' } : undefined;
}

/**
 * Words of JSON Schema that say nothing of what a value is made of. What they say is told in the description where they are
 * not taken, as it is where a record says so from the start; of those in one list, a server that refuses one refuses all.
 */
const SAYABLE: readonly (readonly string[])[] = [
  ['title'],
  ['default'],
  ['examples', 'example'],
  ['format'],
  ['pattern'],
  ['minLength', 'maxLength'],
  ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ['multipleOf'],
  ['minItems', 'maxItems'],
  ['uniqueItems'],
  ['contains', 'minContains', 'maxContains'],
  ['minProperties', 'maxProperties'],
  ['propertyNames'],
  ['patternProperties'],
  ['const'],
  ['oneOf'],
  ['nullable'],
  ['not'],
  ['if', 'then', 'else'],
  ['dependentRequired', 'dependentSchemas', 'dependencies'],
  ['unevaluatedProperties', 'unevaluatedItems'],
  ['contentEncoding', 'contentMediaType', 'contentSchema'],
  ['deprecated', 'readOnly', 'writeOnly'],
  ['$schema', '$id', '$comment', '$anchor'],
];

const SAYABLE_WORDS: ReadonlySet<string> = new Set(SAYABLE.flat());

/** The words of a request's schemas that a refusal names; undefined for one that is about something else. */
function refusedSchemaWords(message: string, request: NormalizedRequest): RefusedWord | undefined {
  for (const wording of REFUSED_SCHEMA_WORDS) {
    const match = wording.message.exec(message);
    const named: readonly string[] = match?.groups?.['word']?.match(/[$A-Za-z]\w*/g) ?? [];
    const words = SAYABLE.filter((group) => group.some((word) => named.includes(word))).flat();
    if (match === null || words.length === 0 || !hasSchemaWord(request, words)) continue;
    const isAlways = NO_CONDITION.test(message.slice(match[0].length));
    const holdsFor = isAlways && !mayHoldWords(request, named, SAYABLE_WORDS) ? 'account' : 'request';
    return { name: `schema: ${words.join(', ')}`, words, holdsFor };
  }
  return undefined;
}

function hasSchemaWord({ tools, responseFormat: format }: NormalizedRequest, words: readonly string[]): boolean {
  const schemas: unknown[] = tools.map((tool) => tool.function.parameters);
  if (format?.type === 'json_schema') schemas.push(format.json_schema.schema);
  return schemas.some((schema) => holdsWord(schema, new Set(words), MOST_DEPTH));
}

/** Levels of a schema that are looked at. */
const MOST_DEPTH = 32;

function holdsWord(value: unknown, words: ReadonlySet<string>, depth: number): boolean {
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.some((one) => holdsWord(one, words, depth - 1));
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, one]) => words.has(name) || holdsWord(one, words, depth - 1));
}

function isParameter(name: string): name is ParameterName {
  return Object.hasOwn(OPTIONAL, name);
}

function isRequestedWith(name: ParameterName, { parameters, reasoning }: NormalizedRequest): boolean {
  return name === 'reasoning' || name === 'reasoning_effort' ? reasoning !== undefined : name in parameters;
}

function acceptedIn(message: string): readonly ReasoningEffort[] | undefined {
  const list = ACCEPTED.exec(message)?.[1];
  if (list === undefined) return undefined;
  const words = new Set(list.toLowerCase().match(/[a-z]+/g));
  const efforts = REASONING_EFFORTS.filter((effort) => words.has(effort));
  return efforts.length === 0 && !words.has('default') ? undefined : efforts;
}

/** Fields of other APIs for a parameter, at the top of a body. */
const NATIVE_NAMES: Readonly<Record<string, readonly string[] | undefined>> = {
  stop: ['stop_sequences'],
  reasoning: ['thinking'],
};

/** The same, with the words that go together with one of them. */
function withDependents(refusals: readonly RefusedWord[]): readonly RefusedWord[] {
  return refusals.flatMap((refusal) => {
    const dependents = DEPENDENTS[refusal.name] ?? [];
    const missing = dependents.filter((name) => refusals.every((other) => other.name !== name));
    return [refusal, ...missing.map((name) => ({ name, holdsFor: refusal.holdsFor }))];
  });
}

/** Whether a request is called with a word that was refused, as far as that can be told before it is written. */
export function usesWord(
  { name, accepted, instead, words }: RefusedWord,
  request: NormalizedRequest,
): boolean | undefined {
  if (words !== undefined) return hasSchemaWord(request, words);
  if (instead !== undefined) return request.parameters.max_completion_tokens !== undefined;
  if (!isParameter(name)) return undefined;
  if (!isRequestedWith(name, request)) return false;
  return accepted === undefined || !accepted.some((effort) => effort === request.reasoning?.effort);
}

/** An endpoint that is not called with what its provider has refused. */
export function withoutRefused(endpoint: Endpoint, refusals: readonly RefusedWord[]): Endpoint {
  const left = new Set<string>(endpoint.parameters ?? ALL_PARAMETERS);
  const fields = new Map<string, string | undefined>(endpoint.refusedFields);
  let efforts = endpoint.reasoning?.efforts;
  let acceptedEfforts = endpoint.acceptedEfforts;
  const schemaWords = new Set<string>(endpoint.refusedSchemaWords);
  for (const { name, accepted, instead, words } of withDependents(refusals)) {
    if (words !== undefined) for (const word of words) schemaWords.add(word);
    else if (accepted !== undefined) efforts = acceptedEfforts = accepted as readonly ReasoningEffort[];
    else if (name === 'reasoning' || name === 'reasoning_effort') {
      left.delete('reasoning');
      left.delete('reasoning_effort');
      for (const field of NATIVE_NAMES[name] ?? []) fields.set(field, undefined);
    } else if (isParameter(name)) {
      left.delete(name);
      // Bodies that go as their clients wrote them are not written by what an endpoint takes.
      for (const field of [name, ...(NATIVE_NAMES[name] ?? [])]) fields.set(field, undefined);
    } else fields.set(name, instead);
  }
  const parameters = left as ReadonlySet<string> as ReadonlySet<ParameterName>;
  const unknown = endpoint.unknownParameters ?? (endpoint.parameters === undefined ? parameters : undefined);
  return {
    ...endpoint,
    parameters,
    ...(unknown === undefined ? {} : { unknownParameters: unknown }),
    ...(efforts === undefined ? {} : { reasoning: { ...endpoint.reasoning, efforts } }),
    ...(fields.size === 0 ? {} : { refusedFields: fields }),
    ...(schemaWords.size === 0 ? {} : { refusedSchemaWords: schemaWords }),
    ...(acceptedEfforts === undefined ? {} : { acceptedEfforts }),
  };
}

/** What is different in a request for an endpoint that has refused something, a sentence for each change. */
export function adjustmentsFor(
  refusals: readonly RefusedWord[],
  request: NormalizedRequest,
  { providerName }: Endpoint,
): readonly string[] {
  return withDependents(refusals).flatMap(({ name, accepted, instead, words }) => {
    if (words !== undefined) {
      if (!hasSchemaWord(request, words)) return [];
      return [`${words.join(', ')} of schemas became part of their descriptions, because ${providerName} refused them`];
    }
    if (instead !== undefined)
      return [`${name} was sent as ${instead}, because ${providerName} refused the other name`];
    if (isParameter(name) && !isRequestedWith(name, request)) return [];
    if (accepted === undefined) return [`${name} was left out, because ${providerName} refused it`];
    return accepted.some((effort) => effort === request.reasoning?.effort)
      ? []
      : [`${name} was set to the nearest that ${providerName} takes`];
  });
}

/** A refusal in words, for those who look at an endpoint. */
export function describeRefusal({ name, accepted, instead, words }: RefusedWord): string {
  if (words !== undefined) return `${words.join(', ')} in schemas`;
  if (instead !== undefined) return `${name}, which has the name ${instead} there`;
  return accepted === undefined ? name : `${name} other than ${accepted.join(', ')}`;
}
