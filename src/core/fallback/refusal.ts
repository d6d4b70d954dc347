/**
 * Reads from a provider's refusal which word of a request it does not take, and makes of an endpoint one that is not asked
 * with it. Loaded when something was refused. Never a limit, a tool, a schema or a message: without those, something else
 * would be asked.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { ALL_PARAMETERS, type ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../normalize/normalized-request.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import type { AttemptFailure, FailureKind, Refusal } from './failure.ts';

/** Kinds that a refusal of one word may be taken for. */
const KINDS: ReadonlySet<FailureKind> = new Set(['unsupported_parameter', 'invalid_request', 'unprocessable']);

/** Parameters without which the same is asked, said less exactly. */
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

const NAME = `["'\`]?([A-Za-z]\\w*(?:\\.\\w+)*)["'\`]?`;

/** How providers say that they do not take a word, with its name. */
const WORDS: readonly RegExp[] = [
  // Which of two that exclude each other is left is the provider's own advice, or the first.
  new RegExp(`${NAME} and ${NAME} cannot both be (?:specified|set|used)`, 'i'),
  new RegExp(
    `(?:unsupported|unknown|unrecognized|unexpected|unrecognised|invalid|extra) (?:request )?(?:parameter|argument|field|keyword argument|name|property|option)s?(?: supplied)?:? ${NAME}`,
    'i',
  ),
  new RegExp(
    `does(?: not|n't) (?:support|accept|take|allow) (?:the )?(?:parameter|argument|option|field) ${NAME}`,
    'i',
  ),
  new RegExp(
    `${NAME}:? (?:extra inputs are not permitted|(?:is|are) (?:not|no longer) (?:permitted|supported|allowed|available)|is deprecated|is unsupported)`,
    'i',
  ),
  new RegExp(`unsupported value: ${NAME} does not support`, 'i'),
  new RegExp(`${NAME} must be one of`, 'i'),
  new RegExp(`(?:model|it) does(?: not|n't) support ${NAME}(?:\\.|,|$| with)`, 'i'),
];

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
export function refusalOf(failure: AttemptFailure, request: NormalizedRequest): Refusal | undefined {
  const { status, kind, message, raw = '' } = failure;
  if ((status !== 400 && status !== 422) || !KINDS.has(kind) || request.preferences.requireParameters) return undefined;
  const isAbout = ABOUT_WORD.test(`${failure.providerCode ?? ''} ${message} ${raw}`);
  const named = [
    ...WORDS.flatMap((pattern) => {
      const found = pattern.exec(message);
      return found === null ? [] : [found[2] ?? found[1], found[1]];
    }),
    ...(isAbout ? [PARAM.exec(raw)?.[1], LOCATION.exec(raw)?.[1]] : []),
  ];
  for (const name of named) {
    const refusal = name === undefined ? undefined : readName(name, message, request);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function readName(wireName: string, message: string, request: NormalizedRequest): Refusal | undefined {
  const snake = wireName.replace(/[a-z](?=[A-Z])/g, '$&_').toLowerCase();
  const name = OTHER_NAMES[snake] ?? snake;
  const isExclusive = /cannot both be/i.test(message);
  if (isParameter(name)) {
    if (!isAskedWith(name, request)) return undefined;
    const accepted = name === 'reasoning_effort' ? acceptedIn(message) : undefined;
    // A caller's own body says its effort itself.
    if (accepted !== undefined && request.native !== undefined) return undefined;
    return { name, ...(accepted === undefined ? {} : { accepted }), ...(isExclusive ? { passing: true } : {}) };
  }
  const instead = INSTEAD.exec(message)?.[1];
  if ((name === 'max_tokens' || name === 'max_completion_tokens') && instead?.startsWith('max_') === true) {
    return request.parameters.max_completion_tokens === undefined ? undefined : { name, instead };
  }
  if (KEPT.test(name)) return undefined;
  return FIELDS.has(name) || name in request.extra ? { name } : undefined;
}

function isParameter(name: string): name is ParameterName {
  return OPTIONAL.has(name);
}

function isAskedWith(name: ParameterName, { parameters, reasoning }: NormalizedRequest): boolean {
  return name === 'reasoning' || name === 'reasoning_effort' ? reasoning !== undefined : name in parameters;
}

function acceptedIn(message: string): readonly ReasoningEffort[] | undefined {
  const list = ACCEPTED.exec(message)?.[1];
  if (list === undefined) return undefined;
  const words = new Set(list.toLowerCase().match(/[a-z]+/g));
  const efforts = REASONING_EFFORTS.filter((effort) => words.has(effort));
  return efforts.length === 0 && !words.has('default') ? undefined : efforts;
}

/** An endpoint that is not asked with what its provider has refused. */
export function withoutRefused(endpoint: Endpoint, refusals: readonly Refusal[]): Endpoint {
  const left = new Set<string>(endpoint.parameters ?? ALL_PARAMETERS);
  const fields = new Map<string, string | undefined>(endpoint.refusedFields);
  let efforts = endpoint.reasoning?.efforts;
  for (const { name, accepted, instead } of refusals) {
    if (accepted !== undefined) efforts = accepted as readonly ReasoningEffort[];
    else if (name === 'reasoning' || name === 'reasoning_effort') {
      left.delete('reasoning');
      left.delete('reasoning_effort');
    } else if (OPTIONAL.has(name)) left.delete(name);
    else fields.set(name, instead);
  }
  const parameters = left as ReadonlySet<string> as ReadonlySet<ParameterName>;
  const unknown = endpoint.unknownParameters ?? (endpoint.parameters === undefined ? parameters : undefined);
  return {
    ...endpoint,
    parameters,
    ...(unknown === undefined ? {} : { unknownParameters: unknown }),
    ...(efforts === undefined ? {} : { reasoning: { ...endpoint.reasoning, efforts } }),
    ...(fields.size === 0 ? {} : { refusedFields: fields }),
  };
}

/** What is different in a request for an endpoint that has refused something, a sentence for each change. */
export function adjustmentsFor(
  refusals: readonly Refusal[],
  request: NormalizedRequest,
  { providerName }: Endpoint,
): readonly string[] {
  return refusals.flatMap(({ name, accepted, instead }) => {
    if (instead !== undefined) return [`${name} was called ${instead}, because ${providerName} refused the other name`];
    if (isParameter(name) && !isAskedWith(name, request)) return [];
    if (accepted === undefined) return [`${name} was left out, because ${providerName} refused it`];
    return accepted.some((effort) => effort === request.reasoning?.effort)
      ? []
      : [`${name} was set to the nearest that ${providerName} takes`];
  });
}

/** A refusal in words, for those who look at an endpoint. */
export function describeRefusal({ name, accepted, instead }: Refusal): string {
  if (instead !== undefined) return `${name}, which it calls ${instead}`;
  return accepted === undefined ? name : `${name} other than ${accepted.join(', ')}`;
}
