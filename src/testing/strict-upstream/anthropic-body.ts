/** Reads bodies of Anthropic's Messages API, and knows what its model families take. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import { type Finding, type StrictRequest, shown } from './rule.ts';

/** A turn of a conversation. */
export interface CheckedTurn {
  /** Place in `messages`, from 0. */
  readonly at: number;
  readonly role: string;
  readonly content: unknown;
  /** Its blocks; a text is one block. */
  readonly blocks: readonly JsonObject[];
}

/** Turns of a body. */
export function turnsOf({ body }: Pick<StrictRequest, 'body'>): readonly CheckedTurn[] {
  return read.list(body['messages']).map((one, at) => {
    const { role, content } = read.object(one);
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : read.objects(content);
    return { at, role: read.string(role) ?? '', content, blocks };
  });
}

/** Ids of blocks of a type in a turn. */
export function idsOf({ blocks }: Pick<CheckedTurn, 'blocks'>, type: string, member: string): readonly string[] {
  return blocks.flatMap((block) => (block['type'] === type ? [read.string(block[member]) ?? ''] : []));
}

/** The first block of any turn that fits. */
export function blockWith(
  request: StrictRequest,
  fits: (block: JsonObject, turn: CheckedTurn) => boolean,
): Finding | undefined {
  for (const turn of turnsOf(request)) {
    const block = turn.blocks.findIndex((one) => fits(one, turn));
    if (block >= 0) return { at: turn.at, block, type: shown(turn.blocks[block]?.['type']) };
  }
  return undefined;
}

/** Functions of the caller in a body, with their places. */
export function ownTools({
  body,
}: Pick<StrictRequest, 'body'>): readonly { readonly at: number; readonly fields: JsonObject }[] {
  return read
    .objects(body['tools'])
    .map((fields, at) => ({ at, fields }))
    .filter(({ fields: { type } }) => type === undefined || type === 'custom');
}

/** Every cache mark of a body in the order in which they count, each with its lifetime. */
export function markLifetimes({ body }: Pick<StrictRequest, 'body'>): readonly string[] {
  const blocks = [
    ...read.objects(body['tools']),
    ...read.objects(body['system']),
    ...turnsOf({ body }).flatMap((turn) => turn.blocks),
    body,
  ];
  return blocks.flatMap(({ cache_control: mark }) =>
    mark === undefined || mark === null ? [] : [read.string(read.object(mark)['ttl']) ?? '5m'],
  );
}

/** A family of Anthropic's models. */
interface ModelFamily {
  readonly name: RegExp;
  /** What it takes of sampling: everything, one of temperature and top_p, or nothing. */
  readonly sampling: 'all' | 'one' | 'none';
  /** Types of thinking that it takes. */
  readonly thinking: readonly string[];
  /** Efforts that it takes; none where it has no efforts. */
  readonly efforts: readonly string[];
  readonly mostOutput: number;
  /** Whether a conversation may end with an assistant's turn that it continues. */
  readonly takesPrefill: boolean;
  /** Whether a call can be forced. */
  readonly takesForcedTool: boolean;
  /** Whether it has structured output: `output_config.format`, and strict tools. */
  readonly structured: boolean;
}

const OLD = {
  sampling: 'all',
  thinking: ['enabled', 'disabled'],
  efforts: [],
  mostOutput: 64_000,
  takesPrefill: true,
  takesForcedTool: true,
  structured: false,
} as const;
const OF_4_5 = { ...OLD, sampling: 'one', structured: true } as const;
const OF_4_6 = {
  ...OF_4_5,
  thinking: ['adaptive', 'enabled', 'disabled'],
  efforts: ['low', 'medium', 'high', 'max'],
  mostOutput: 128_000,
  takesPrefill: false,
} as const;
const OF_4_7 = {
  ...OF_4_6,
  sampling: 'none',
  thinking: ['adaptive', 'disabled'],
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
} as const;

/**
 * Families, the first that fits counts; an unknown one is as the newest. Sources: Anthropic, pages "Models overview",
 * "Effort", "Adaptive thinking", "Extended thinking" and "Migration guide" (2026-08); RooCodeInc/Roo-Code, issue 12162
 * (temperature of 4.7); SalesforceAIResearch/MCP-Universe, issue 49 (one of temperature and top_p since 4.1);
 * Kilo-Org/kilocode, issue 10729 (thinking of 4.8); BerriAI/litellm, issue 36267 (prefill).
 */
const FAMILIES: readonly ModelFamily[] = [
  { ...OLD, name: /^claude-3-haiku|^claude-3-opus|^claude-2/, thinking: [], mostOutput: 4_096 },
  { ...OLD, name: /^claude-3-5/, thinking: [], mostOutput: 8_192 },
  { ...OLD, name: /^claude-3-7|^claude-sonnet-4-(?:0|20)|^claude-sonnet-4$/ },
  { ...OLD, name: /^claude-opus-4-(?:0|20)|^claude-opus-4$/, mostOutput: 32_000 },
  { ...OLD, name: /^claude-opus-4-1/, sampling: 'one', mostOutput: 32_000 },
  { ...OF_4_5, name: /^claude-(?:sonnet|haiku)-4-5/ },
  { ...OF_4_5, name: /^claude-opus-4-5/, efforts: ['low', 'medium', 'high'] },
  { ...OF_4_6, name: /^claude-(?:sonnet|opus)-4-6/ },
  { ...OF_4_7, name: /^claude-sonnet-5-5/, thinking: ['adaptive', 'between_tools'], takesForcedTool: false },
  { ...OF_4_7, name: /^claude-opus-5-5|^claude-fable-5-[12]/, thinking: ['adaptive'], takesForcedTool: false },
  { ...OF_4_7, name: /^claude-fable-5|^claude-mythos/, thinking: ['adaptive'] },
  { ...OF_4_7, name: /^/ },
];

/** The family of a model. */
export function anthropicFamily(model: string): ModelFamily {
  return FAMILIES.find(({ name }) => name.test(model)) ?? { ...OF_4_7, name: /^/ };
}

/** Type of thinking that a request requires. */
export function thinkingOf({ body }: Pick<StrictRequest, 'body'>): string | undefined {
  return read.string(read.object(body['thinking'])['type']);
}
