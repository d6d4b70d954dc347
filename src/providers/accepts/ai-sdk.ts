/** What providers behind the AI SDK accept. */
import { type AcceptedConversation, acceptsOf } from '../../core/accepts.ts';
import { ANY_SERVER } from './any-server.ts';
import { ANY_MEDIA, LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';

/**
 * What the providers of the AI SDK accept. Their packages put texts together and place media themselves, so records say
 * here what is left to whoever calls them: the order of roles, and where instructions may be.
 */
type SdkConversations = Readonly<
  Record<'claude' | 'google' | 'openai' | 'mistral' | 'groqOrXai' | 'cohere' | 'deepseek', AcceptedConversation>
>;

const PACKAGE_PLACES = { user: ANY_MEDIA, assistant: ANY_MEDIA, tool: ANY_MEDIA };
const NOT_IN_RESULTS = { ...PACKAGE_PLACES, tool: NO_MEDIA };

export const SDK_CONVERSATIONS = {
  claude: {
    systemTurns: 'first',
    turns: 'alternating',
    calls: 'many',
    afterResults: 'any',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    media: PACKAGE_PLACES,
    fileNames: 'optional',
    fileAddresses: true,
    // Models that do not go on with one are told apart by what knows them.
    prefill: 'plain',
    toolIds: 'any',
    source: 'source of @ai-sdk/anthropic 4.0.105 and @ai-sdk/amazon-bedrock, 2026-11',
  },
  google: {
    systemTurns: 'first',
    turns: 'with-user',
    calls: 'many',
    afterResults: 'any',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    // Its package makes two results of a text and a file.
    media: NOT_IN_RESULTS,
    fileNames: 'optional',
    fileAddresses: true,
    prefill: 'plain',
    toolIds: 'any',
    source: 'source of @ai-sdk/google 4.0.121, 2026-11',
  },
  openai: {
    systemTurns: 'anywhere',
    turns: 'any',
    calls: 'many',
    afterResults: 'any',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    media: NOT_IN_RESULTS,
    fileNames: 'required',
    fileAddresses: true,
    prefill: 'plain',
    toolIds: 'any',
    source: 'source of @ai-sdk/openai 4.0.118; openai-agents-python#1513, 2026-11',
  },
  mistral: {
    systemTurns: 'first',
    turns: 'with-user',
    calls: 'many',
    afterResults: 'assistant',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    media: NOT_IN_RESULTS,
    fileNames: 'optional',
    fileAddresses: true,
    // Its package marks the last turn.
    prefill: 'plain',
    toolIds: 'nine-alphanumeric',
    source: 'source of @ai-sdk/mistral; avante#2562, zed#37021, 2026-11',
  },
  groqOrXai: {
    systemTurns: 'anywhere',
    turns: 'any',
    calls: 'many',
    afterResults: 'any',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    media: NOT_IN_RESULTS,
    fileNames: 'required',
    fileAddresses: true,
    prefill: 'plain',
    toolIds: 'any',
    source: 'source of @ai-sdk/groq and @ai-sdk/xai, 2026-11',
  },
  cohere: {
    systemTurns: 'first',
    turns: 'any',
    calls: 'many',
    afterResults: 'any',
    lists: LISTS_EVERYWHERE,
    nullContent: true,
    media: NOT_IN_RESULTS,
    fileNames: 'required',
    fileAddresses: true,
    prefill: 'plain',
    toolIds: 'any',
    source: 'source of @ai-sdk/cohere, 2026-11',
  },
  deepseek: {
    systemTurns: 'first',
    turns: 'any',
    calls: 'many',
    afterResults: 'any',
    lists: { ...LISTS_EVERYWHERE, user: false },
    nullContent: true,
    media: NOT_IN_RESULTS,
    fileNames: 'required',
    fileAddresses: true,
    prefill: 'plain',
    toolIds: 'any',
    source: 'source of @ai-sdk/deepseek; openclaude#774, hermes-agent#14973, 2026-11',
  },
} as const satisfies SdkConversations;

/** What a server behind the SDK's package for compatible servers accepts: what any server does, by its model. */
export function compatibleConversation(modelId: string): AcceptedConversation {
  const { conversation } = acceptsOf(ANY_SERVER, modelId);
  // The package writes one text as a string, and lists of users as they are.
  return {
    ...conversation,
    lists: { ...LISTS_EVERYWHERE, user: conversation.lists.user },
    nullContent: true,
    media: NOT_IN_RESULTS,
    fileAddresses: true,
  };
}
