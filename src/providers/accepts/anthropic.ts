/** What Anthropic accepts. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { Accepts, FamilyAccepts, VendorAccepts } from '../../core/accepts.ts';
import { CLAUDE_HELD, CLAUDE_STRICT_TOOLS, CLAUDE_TOOLS, ANY_SCHEMA } from './schemas.ts';
import { LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';

const NO_WORDS = parametersLackedBy('anthropic');
const SAMPLING: readonly ParameterName[] = ['temperature', 'top_p', 'top_k'];

/** The line from Opus 4.7 on: it thinks as it sees fit, and takes no sampling parameters. */
const CURRENT = {
  conversation: { prefill: 'refused' },
  schemas: { strictTools: CLAUDE_STRICT_TOOLS, formats: CLAUDE_HELD },
  reasoning: {
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    control: 'effort',
    budget: undefined,
    hidden: true,
  },
  parameters: {
    refused: [...NO_WORDS, ...SAMPLING],
    exclusive: [],
    maxOutput: 128_000,
    usualOutput: 128_000,
  },
} as const satisfies Differences;

/** Thinks by an effort or within a budget, and samples while it does not. */
const CLAUDE_4_6 = {
  ...CURRENT,
  reasoning: { efforts: ['low', 'medium', 'high', 'max'], control: 'either' },
  parameters: { exclusive: [['temperature', 'top_p']], maxOutput: 128_000, usualOutput: 128_000 },
} as const satisfies Differences;

/** Thinks within a budget, and goes on with what the assistant has begun to say. */
const CLAUDE_4_5 = {
  schemas: CURRENT.schemas,
  parameters: { exclusive: [['temperature', 'top_p']], maxOutput: 64_000, usualOutput: 64_000 },
} as const satisfies Differences;

const UP_TO_32K = { ...CLAUDE_4_5.parameters, maxOutput: 32_000, usualOutput: 32_000 } as const;
const SYSTEM_TURNS = { prefill: 'refused', systemTurns: 'top-or-between' } as const;
const ALWAYS_THINKS = { ...CURRENT.reasoning, off: 'lowest' } as const;
const ALWAYS_THINKING: Differences = { ...CURRENT, conversation: SYSTEM_TURNS, reasoning: ALWAYS_THINKS };
const NEVER_FORCED = { ...CURRENT.parameters, forcedTools: 'never' } as const;

type Differences = FamilyAccepts['accepts'];

const MODELS_PAGE = 'docs.claude.com/en/docs/about-claude/models/overview, 2026-11';
const THINKING_PAGE = 'docs.claude.com/en/docs/build-with-claude/extended-thinking, adaptive-thinking, effort, 2026-11';

/** A family by the name that the API has for its models; platforms put their own before it, and dates and versions behind. */
function family(name: string, accepts: Differences, source = `${MODELS_PAGE}; ${THINKING_PAGE}`): FamilyAccepts {
  const spelled = name.replaceAll('-', '[.-]');
  return {
    models: new RegExp(`claude-${spelled}(?:[.-]0)?(?:-\\d{8}|-latest)?(?:-v\\d+)?(?:$|[@:])`),
    accepts,
    source,
  };
}

/** What all models behind the Messages API accept: those of others take what all of Claude once did. */
const ALL: Accepts = {
  conversation: {
    systemTurns: 'top',
    turns: 'alternating',
    calls: 'many',
    afterResults: 'any',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    media: { user: ['image', 'file'], assistant: NO_MEDIA, tool: ['image', 'file'] },
    fileNames: 'optional',
    fileAddresses: true,
    prefill: 'plain',
    toolIds: 'word-characters',
    source: 'docs.claude.com/en/api/messages; claude-code#27337, litellm#34319, 2026-11',
  },
  schemas: {
    tools: CLAUDE_TOOLS,
    strictTools: undefined,
    formats: 'none',
    looseFormats: ANY_SCHEMA,
    formatsWithTools: true,
    source: 'docs.claude.com/en/docs/build-with-claude/structured-outputs; opencode#35516, kimi-code#2328, 2026-11',
  },
  reasoning: {
    efforts: [],
    byDefault: false,
    control: 'budget',
    budget: { least: 1_024, most: 128_000 },
    off: 'disabled',
    mostEffortWhenOff: undefined,
    hidden: false,
    history: 'optional',
    source: THINKING_PAGE,
  },
  parameters: {
    refused: NO_WORDS,
    refusedWhileReasoning: SAMPLING,
    exclusive: [],
    maxTemperature: 1,
    maxOutput: undefined,
    usualOutput: 4_096,
    forcedTools: 'without-budget',
    wire: 'chat',
    toolsWire: 'chat',
    source: `docs.claude.com/en/api/messages, ${MODELS_PAGE}`,
  },
  usage: {
    cachedTokens: ['cache_read_input_tokens'],
    cacheWriteTokens: ['cache_creation_input_tokens'],
    source: 'docs.claude.com/en/docs/build-with-claude/prompt-caching, 2026-11',
  },
};

/** What Anthropic accepts on its Messages API, and whoever speaks it. */
export const ANTHROPIC: VendorAccepts = {
  all: ALL,
  families: [
    family('sonnet-5-5', {
      ...CURRENT,
      reasoning: { ...CURRENT.reasoning, off: 'between_tools' },
      parameters: NEVER_FORCED,
    }),
    family('(?:opus-5-5|fable-5-[12])', {
      ...CURRENT,
      conversation: SYSTEM_TURNS,
      reasoning: ALWAYS_THINKS,
      parameters: NEVER_FORCED,
    }),
    family('haiku-5-5', { ...CURRENT, reasoning: { ...CURRENT.reasoning, mostEffortWhenOff: 'high' } }),
    family('opus-5', {
      ...CURRENT,
      conversation: SYSTEM_TURNS,
      reasoning: { ...CURRENT.reasoning, mostEffortWhenOff: 'high' },
    }),
    family('(?:sonnet-5|opus-4-7)', CURRENT),
    family('fable-5', ALWAYS_THINKING),
    { models: /claude-mythos/, accepts: ALWAYS_THINKING, source: MODELS_PAGE },
    family('opus-4-8', { ...CURRENT, conversation: SYSTEM_TURNS }),
    family('(?:opus|sonnet)-4-6', CLAUDE_4_6),
    family('opus-4-5', { ...CLAUDE_4_5, reasoning: { efforts: ['low', 'medium', 'high'] } }),
    family('(?:sonnet|haiku)-4-5', CLAUDE_4_5),
    family('opus-4-1', { ...CLAUDE_4_5, parameters: UP_TO_32K }),
    family('opus-4', { parameters: UP_TO_32K }),
    family('sonnet-4', { parameters: CLAUDE_4_5.parameters }),
    {
      models: /claude-(?:instant|v?[1-3](?:[.-]|$))/,
      accepts: { reasoning: { control: 'none', budget: undefined } },
      source: MODELS_PAGE,
    },
    {
      // A model of a later line is taken to be like the current ones, but to refuse what some of them refuse.
      models: /claude-/,
      accepts: {
        ...CURRENT,
        reasoning: { ...CURRENT.reasoning, mostEffortWhenOff: 'high' },
        parameters: { ...CURRENT.parameters, maxOutput: undefined },
      },
      source: MODELS_PAGE,
    },
  ],
};
