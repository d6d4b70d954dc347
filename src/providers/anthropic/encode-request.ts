import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { TextBlock, Turn } from './blocks.ts';
import { cacheMark, textBlocks } from './encode-content.ts';
import { encodeConversation } from './encode-conversation.ts';
import { encodeTools } from './encode-tools.ts';
import { type ModelRules, planThinking, rulesOf, type ThinkingPlan, wireModelName } from './plan-thinking.ts';
import { planFormat } from './plan-format.ts';
import { tierToAsk } from '../wanted-tier.ts';
import type { CacheControl } from '../../protocol/content-part.ts';
import * as read from '../../platform/json.ts';

/** A request body of the Messages API. */
export type EncodedBody = Readonly<Record<string, unknown>>;

/**
 * A non-streaming response longer than this may take more than ten minutes, in which nothing is heard and connections
 * are cut, so it is asked for as a stream and put together by the router.
 */
const MOST_WHOLE_TOKENS = 21_333;

/** Fields that clients of other APIs send beside those of the contract, and that this API would refuse. */
const FOREIGN = new Set(['store', 'safety_identifier', 'functions', 'function_call']);

/**
 * Writes a request for the Messages API. Parameters that the endpoint or the model does not take are left out; those
 * the caller left out stay out, except for the token limit, which the API insists on.
 *
 * @throws {@link EncodeError} for content that this wire has no form for.
 */
export function encodeRequest(request: NormalizedRequest, endpoint: Endpoint): EncodedBody {
  const rules = rulesOf(endpoint);
  const takes = (name: ParameterName): boolean => endpoint.parameters?.has(name) !== false;
  const conversation = encodeConversation(request, rules);
  const { turns } = conversation;
  const thinking = planThinking(withoutUntaken(request, takes), endpoint, rules, turns);
  const format = planFormat(request, rules, thinking, takes);
  const { tools, choice, instruction } = encodeTools(request, rules, { thinking, format, turns }, takes);
  const system = [...conversation.system, ...(format.type === 'instruction' ? textBlocks(format.text) : [])];
  const whole = request.cache.control && cacheMark(request.cache.control);
  const mark = limitCacheMarks(tools, system, turns, whole);
  return {
    ...foreignFree(request.extra),
    model: wireModelName(endpoint.upstreamModel),
    max_tokens: thinking.maxTokens,
    ...(system.length > 0 ? { system } : {}),
    messages: instruction === undefined ? turns : withInstruction(turns, instruction),
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...outputConfig(request.extra, thinking, format.type === 'native' ? format.schema : undefined),
    ...sampling(request, rules, thinking, takes),
    ...stopSequences(request, takes),
    ...serviceTier(request, endpoint),
    ...(mark === undefined ? {} : { cache_control: mark }),
    metadata: { user_id: request.endUser },
    ...(request.stream || isLong(request, thinking) ? { stream: true } : {}),
  };
}

type Takes = (name: ParameterName) => boolean;

/** Reasoning that the endpoint does not take is not asked for. */
function withoutUntaken(request: NormalizedRequest, takes: Takes): NormalizedRequest {
  const { verbosity, ...parameters } = request.parameters;
  return {
    ...request,
    parameters: verbosity === undefined || !takes('verbosity') ? parameters : request.parameters,
    reasoning: takes('reasoning') || takes('reasoning_effort') ? request.reasoning : undefined,
  };
}

function foreignFree(extra: JsonObject): EncodedBody {
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !FOREIGN.has(name)));
}

/** Effort and schema are in one object; what the caller put there by this API's own name stays. */
function outputConfig(extra: JsonObject, { effort }: ThinkingPlan, schema: JsonObject | undefined): EncodedBody {
  if (effort === undefined && schema === undefined) return {};
  const own = extra['output_config'];
  return {
    output_config: {
      ...read.object(own),
      ...(effort === undefined ? {} : { effort }),
      ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
    },
  };
}

function sampling(
  { parameters }: NormalizedRequest,
  rules: ModelRules,
  thinking: ThinkingPlan,
  takes: Takes,
): EncodedBody {
  if (!rules.sampling || thinking.on) return {};
  const { temperature, top_p: topP, top_k: topK } = parameters;
  const warm = temperature !== undefined && takes('temperature');
  return {
    ...(warm ? { temperature: Math.min(temperature, 1) } : {}),
    ...(topP === undefined || !takes('top_p') || (warm && !rules.bothSamplers) ? {} : { top_p: topP }),
    // Zero switches it off, which on this wire is said by saying nothing.
    ...(topK === undefined || topK < 1 || !takes('top_k') ? {} : { top_k: topK }),
  };
}

/** The API refuses sequences of nothing but space. */
function stopSequences({ parameters: { stop = [] } }: NormalizedRequest, takes: Takes): EncodedBody {
  const sequences = stop.filter((sequence) => sequence.trim() !== '');
  return sequences.length === 0 || !takes('stop') ? {} : { stop_sequences: sequences };
}

/** Priority capacity is used where the account has bought some; there is nothing else to choose. */
function serviceTier({ serviceTier: wanted }: NormalizedRequest, endpoint: Endpoint): EncodedBody {
  const tier = tierToAsk(endpoint, wanted, true);
  if (tier === 'priority') return { service_tier: 'auto' };
  // What an endpoint does when it is not told is to use priority capacity.
  return tier === 'default' || (wanted === 'priority' && tier === undefined) ? { service_tier: 'standard_only' } : {};
}

function isLong({ parameters }: NormalizedRequest, { maxTokens }: ThinkingPlan): boolean {
  return parameters.max_completion_tokens !== undefined && maxTokens > MOST_WHOLE_TOKENS;
}

/** An instruction at the end leaves everything before it as it was, so that it can be read from the cache. */
function withInstruction(turns: readonly Turn[], instruction: string): readonly Turn[] {
  const last = turns.at(-1);
  if (last?.role !== 'user') return [...turns, { role: 'user', content: textBlocks(instruction) }];
  return [...turns.slice(0, -1), { role: 'user', content: [...last.content, ...textBlocks(instruction)] }];
}

/** Marks in one request; the one at the top counts too. */
const MOST_MARKS = 4;

type Markable = { cache_control?: CacheControl };

/**
 * Takes away cache marks until the API accepts the rest, in place: at most four, none on the last block beside a mark
 * for the whole request, and none that lives an hour behind one that lives five minutes. Of too many, the first stays,
 * which other conversations share, and the last ones, which this one goes on from.
 *
 * @returns the mark for the whole request, as it may be sent.
 */
function limitCacheMarks(
  tools: readonly Markable[],
  system: readonly TextBlock[],
  turns: readonly Turn[],
  whole: CacheControl | undefined,
): CacheControl | undefined {
  const blocks: readonly Markable[] = [...tools, ...system, ...turns.flatMap(({ content }) => content as Markable[])];
  if (whole !== undefined) delete blocks.at(-1)?.cache_control;
  const marked = blocks.filter(({ cache_control: mark }) => mark !== undefined);
  const most = whole === undefined ? MOST_MARKS : MOST_MARKS - 1;
  for (const block of marked.splice(1, marked.length - most)) delete block.cache_control;
  let isShort = false;
  for (const block of marked) {
    const lasts = block.cache_control?.ttl === '1h';
    if (isShort && lasts) block.cache_control = SHORT;
    isShort ||= !lasts;
  }
  return isShort && whole?.ttl === '1h' ? SHORT : whole;
}

const SHORT: CacheControl = { type: 'ephemeral' };
