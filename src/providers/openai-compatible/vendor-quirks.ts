import type { AcceptedConversation, FamilyAccepts } from '../../core/accepts.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import type { BatchPath } from './native-batches.ts';
import { LISTS_EVERYWHERE } from '../accepts/usual.ts';
import { type ToolIdRule, WORD_CHARACTERS } from '../tool-ids.ts';

/** How a server with the chat completions API differs from the others. Data only. */
export interface VendorQuirks {
  /** Field of the token limit. Default `max_tokens`, which more servers support. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** Field for the hashed end user. Default `user`; `none` for servers that refuse it. */
  readonly userField?: 'user' | 'safety_identifier' | 'user_id' | 'none' | undefined;
  /**
   * API for batches, where the server has one: `files` for a file and a batch over it, as OpenAI has it, `jobs` for jobs
   * with one model each, as Mistral has them. Default `files`.
   */
  readonly batchWire?: 'files' | 'jobs' | undefined;
  /** Endpoints that batches may be for, where the server has an API for them. Default: all. */
  readonly batchPaths?: readonly BatchPath[] | undefined;
  /** What its batches cost of the price of single requests, where a model's price says nothing. Default: unknown. */
  readonly batchPriceFactor?: number | undefined;
  /** Whether the role `developer` is known; otherwise it is sent as `system`. Default false. */
  readonly developerRole?: boolean | undefined;
  /** Whether `stream_options` may be sent; without it many servers report no usage. Default true. */
  readonly streamOptions?: boolean | undefined;
  /** Whether the server pads its chunks unless set not to. Default false. */
  readonly padsChunks?: boolean | undefined;
  /** How reasoning is requested. Default `reasoning_effort`. */
  readonly reasoning?: 'reasoning_effort' | 'reasoning' | 'thinking' | undefined;
  /** Efforts the server supports; others are sent as the nearest of them. Default: all but `max`. */
  readonly efforts?: readonly ReasoningEffort[] | undefined;
  /** Default `seed`. */
  readonly seedField?: 'seed' | 'random_seed' | undefined;
  /** Word for "some tool must be called". Default `required`. */
  readonly forcedTool?: 'required' | 'any' | undefined;
  /**
   * Which conversations the server takes, where it takes more than every template does, or less. Default: instructions
   * once and at the beginning, texts as strings, and media from users only.
   */
  readonly conversation?: Partial<Omit<AcceptedConversation, 'source'>> | undefined;
  /** Form that tool call ids must have. Default: any, but for models of Mistral. */
  readonly toolCallIds?: AcceptedConversation['toolIds'] | undefined;
  /** Cache marks that content parts may carry. Default none. */
  readonly cacheMarks?: 'cache_control' | 'prompt_cache_breakpoint' | undefined;
  /** Field in which an assistant message's earlier reasoning goes back. Default: it does not. */
  readonly reasoningHistory?: 'reasoning' | 'reasoning_content' | 'reasoning_details' | undefined;
  /** Whether messages may carry `name`; otherwise a user's name is put in front of the text. Default true. */
  readonly messageNames?: boolean | undefined;
  /** Whether images may be requested in `original` detail; otherwise it is sent as `high`. Default false. */
  readonly originalImages?: boolean | undefined;
  /** Whether its models read PDFs in file parts, as far as nothing else is known of them. Default false. */
  readonly readsFiles?: boolean | undefined;
  /** Whether its models go on from an assistant message at the end of the prompt, as far as nothing else is declared. Default: unknown. */
  readonly prefill?: boolean | undefined;
  /** Highest temperature; higher ones are lowered to it. Default 2. */
  readonly maxTemperature?: number | undefined;
  /** Service tiers that may be requested. Default none. */
  readonly serviceTiers?: readonly string[] | undefined;
  /** Whether `prompt_cache_key` and `prompt_cache_options` are known. Default false. */
  readonly promptCacheFields?: boolean | undefined;
  /** Whether `POST /responses/input_tokens` counts the tokens of a prompt. Default false. */
  readonly countsInput?: boolean | undefined;
  /** Whether fields that routers add to OpenAI's Responses are known there. Default false. */
  readonly responsesExtensions?: boolean | undefined;
  /** Parameters this vendor never takes, whatever the model. */
  readonly unsupported?: readonly ParameterName[] | undefined;
  /** How embeddings are requested. */
  readonly embeddings?: EmbeddingQuirks | undefined;
  /** Whether completion tokens leave reasoning tokens out although they are charged. Default false. */
  readonly reasoningOutsideCompletion?: boolean | undefined;
}

/** How a server's embeddings differ from those of others. Data only. */
export interface EmbeddingQuirks {
  /** Whether vectors may be requested in base64. Default false: nothing is said, and either form is understood. */
  readonly base64?: boolean | undefined;
  /** Field of the vectors' length. Default `dimensions`. */
  readonly dimensionsField?: 'dimensions' | 'output_dimension' | undefined;
  /** Whether `user` may be sent. Default true. */
  readonly user?: boolean | undefined;
}

/** What a program says of its server, for its record. Marks of a cache are on parts, so a server that has them takes lists. */
export function differencesOf(quirks: VendorQuirks): FamilyAccepts['accepts'] {
  const { conversation, cacheMarks, toolCallIds, efforts, maxTemperature } = quirks;
  return {
    conversation: {
      ...(cacheMarks === undefined ? {} : { lists: LISTS_EVERYWHERE }),
      ...(toolCallIds === undefined ? {} : { toolIds: toolCallIds }),
      ...conversation,
    },
    ...(efforts === undefined ? {} : { reasoning: { efforts } }),
    ...(maxTemperature === undefined ? {} : { parameters: { maxTemperature } }),
  };
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const LENGTH = 9;

/** Ids of exactly nine letters and digits, as some servers demand them. */
export const NINE_CHARACTERS: ToolIdRule = { allowed: /^[a-zA-Z0-9]{9}$/, replace: nineCharacters };

/** What is demanded of the ids of tool calls; undefined when they may be anything. */
export function toolIdRule(form: AcceptedConversation['toolIds'] | undefined): ToolIdRule | undefined {
  return form === undefined ? undefined : RULES[form];
}

/** Ids of at most 40 characters. */
export const FORTY_CHARACTERS: ToolIdRule = {
  allowed: /^[^]{1,40}$/,
  replace: (id, salt) => `call_${nineCharacters(id, salt)}${nineCharacters(id, ~salt)}`,
};

const RULES: Readonly<Record<AcceptedConversation['toolIds'], ToolIdRule | undefined>> = {
  any: undefined,
  'word-characters': WORD_CHARACTERS,
  'at-most-40': FORTY_CHARACTERS,
  'nine-alphanumeric': NINE_CHARACTERS,
};

/** Nine letters and digits for an id, others for every salt. */
function nineCharacters(id: string, salt: number): string {
  let state = 0x811c9dc5 ^ salt;
  for (let index = 0; index < id.length; index += 1) state = Math.imul(state ^ id.charCodeAt(index), 0x01000193);
  let text = '';
  for (let index = 0; index < LENGTH; index += 1) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + index;
    text += ALPHABET[(state >>> 8) % ALPHABET.length] ?? 'a';
  }
  return text;
}
