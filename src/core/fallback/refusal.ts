/**
 * Reads from a provider's refusal which word of a request it does not take, and makes of an endpoint one that is not
 * called with it. Loaded when something was refused. Never a limit, a tool, a schema or a message: without those,
 * it would be another request. Of a schema only words that its descriptions can say as well.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { ALL_PARAMETERS, type ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { REFUSED_SCHEMA_WORDS, REFUSED_WORDS } from './refused-wordings.ts';
import type { AttemptFailure, FailureKind, RefusedWord } from '../../contracts/failure.ts';

/** Kinds that a refusal of one word may be taken for. */
const KINDS: ReadonlySet<FailureKind> = new Set(['unsupported_parameter', 'invalid_request', 'unprocessable']);

/** Parameters without which the request means the same, less exactly. */
const OPTIONAL: ReadonlySet<string> = new Set<ParameterName>([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'prediction',
  'seed',
  'stop',
  'parallel_tool_calls',
  'verbosity',
  'reasoning',
  'reasoning_effort',
]);

/** Fields that codecs write besides parameters. */
const FIELDS: ReadonlySet<string> = new Set([
  'user',
  'user_id',
  'safety_identifier',
  'service_tier',
  'stream_options',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'store',
  'metadata',
]);

/** Words that are never left out, whatever they are called. */
const KEPT =
  /^(?:model|messages?|input|contents?|system|instructions|stream)$|max_|limit|tool|function|schema|format|response/;

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

/** Where a body names the parameter beside its message. */
const PARAM = /"param(?:eter)?"\s*:\s*"([\w.]+)"/;
const LOCATION = /"loc"\s*:\s*\[\s*"body"\s*,\s*"(\w+)"\s*\]/;
/** Words that say that a parameter is the matter, where only the body names it. */
const ABOUT_WORD =
  /unsupported|not supported|not permitted|unrecognized|unknown|not allowed|supported values|extra_forbidden/i;
const ACCEPTED =
  /(?:supported values are|must be one of|expected one of|valid values are|allowed values are):? ?([^.]*)/i;
const INSTEAD = /use ["'`]?(\w+)["'`]? instead/i;

/** What a failed call says that its provider does not take; undefined where it names nothing that can be left out. */
export function refusalOf(
  failure: AttemptFailure,
  request: NormalizedRequest,
  endpoint: Endpoint,
): RefusedWord | undefined {
  const { status, kind, message, raw = '' } = failure;
  if ((status !== 400 && status !== 422) || !KINDS.has(kind) || request.preferences.requireParameters) return undefined;
  // A client's own body has its own schemas, and gets its provider's own answer.
  const isOwn = request.native !== undefined && endpoint.apiFormats.includes(request.native.apiFormat);
  const words = isOwn ? undefined : refusedSchemaWords(message, request);
  if (words !== undefined) return { name: `schema: ${words.join(', ')}`, words };
  const isAbout = ABOUT_WORD.test(`${failure.providerCode ?? ''} ${message} ${raw}`);
  const named = [
    ...REFUSED_WORDS.flatMap((wording) => {
      const { word, other } = wording.message.exec(message)?.groups ?? {};
      return [word, other];
    }),
    ...(isAbout ? [PARAM.exec(raw)?.[1], LOCATION.exec(raw)?.[1]] : []),
  ];
  for (const name of named) {
    const refusal = name === undefined ? undefined : readName(name, message, request);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function readName(wireName: string, message: string, request: NormalizedRequest): RefusedWord | undefined {
  const snake = wireName.replace(/[a-z](?=[A-Z])/g, '$&_').toLowerCase();
  const name = OTHER_NAMES[snake] ?? snake;
  const isExclusive = /cannot both be/i.test(message);
  if (isParameter(name)) {
    if (!isRequestedWith(name, request)) return undefined;
    const accepted = name === 'reasoning_effort' ? acceptedIn(message) : undefined;
    return { name, ...(accepted === undefined ? {} : { accepted }), ...(isExclusive ? { passing: true } : {}) };
  }
  const instead = INSTEAD.exec(message)?.[1];
  if ((name === 'max_tokens' || name === 'max_completion_tokens') && instead?.startsWith('max_') === true) {
    return request.parameters.max_completion_tokens === undefined ? undefined : { name, instead };
  }
  if (KEPT.test(name)) return undefined;
  return FIELDS.has(name) || name in request.extra ? { name } : undefined;
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

/** The words of a request's schemas that a refusal names; undefined for one that is about something else. */
function refusedSchemaWords(message: string, request: NormalizedRequest): readonly string[] | undefined {
  for (const wording of REFUSED_SCHEMA_WORDS) {
    const named: readonly string[] = wording.message.exec(message)?.groups?.['word']?.match(/[$A-Za-z]\w*/g) ?? [];
    const words = SAYABLE.filter((group) => group.some((word) => named.includes(word))).flat();
    if (words.length > 0 && hasSchemaWord(request, words)) return words;
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
  return OPTIONAL.has(name);
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

/** An endpoint that is not called with what its provider has refused. */
export function withoutRefused(endpoint: Endpoint, refusals: readonly RefusedWord[]): Endpoint {
  const left = new Set<string>(endpoint.parameters ?? ALL_PARAMETERS);
  const fields = new Map<string, string | undefined>(endpoint.refusedFields);
  let efforts = endpoint.reasoning?.efforts;
  let acceptedEfforts = endpoint.acceptedEfforts;
  const schemaWords = new Set<string>(endpoint.refusedSchemaWords);
  for (const { name, accepted, instead, words } of refusals) {
    if (words !== undefined) for (const word of words) schemaWords.add(word);
    else if (accepted !== undefined) efforts = acceptedEfforts = accepted as readonly ReasoningEffort[];
    else if (name === 'reasoning' || name === 'reasoning_effort') {
      left.delete('reasoning');
      left.delete('reasoning_effort');
      for (const field of NATIVE_NAMES[name] ?? []) fields.set(field, undefined);
    } else if (OPTIONAL.has(name)) {
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
  return refusals.flatMap(({ name, accepted, instead, words }) => {
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
