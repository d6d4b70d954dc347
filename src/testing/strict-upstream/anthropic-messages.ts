/** What Anthropic refuses in turns and blocks of the Messages API. */
import * as read from '../../platform/json.ts';
import { blockWith, markLifetimes, anthropicFamily, idsOf, ownTools, thinkingOf, turnsOf } from './anthropic-body.ts';
import { memberOutside } from './chat-body.ts';
import { type StrictRequest, type StrictRule, shown } from './rule.ts';

const REFERENCE = 'Anthropic, API reference "Create a Message"';
const TOOL_USE = 'Anthropic, page "How to implement tool use"';
const CACHING = 'Anthropic, page "Prompt caching"';
const THINKING = 'Anthropic, page "Building with extended thinking"';

const ID = /^[a-zA-Z0-9_-]+$/;
const IMAGES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const MOST_MARKS = 4;

/** Types of blocks that each role may hold, as far as callers send them. */
const USER_BLOCKS = ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload'];
const ASSISTANT_BLOCKS = ['text', 'thinking', 'redacted_thinking', 'tool_use'];
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['type', 'text', 'cache_control', 'citations']),
  image: new Set(['type', 'source', 'cache_control']),
  document: new Set(['type', 'source', 'title', 'context', 'citations', 'cache_control']),
  tool_use: new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller']),
  tool_result: new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
};

/** Whether a model reads turns of the role `system` inside the conversation. */
function takesSystemTurns(model: string): boolean {
  return /^claude-(?:opus-(?:4-8|5)|fable-5|mythos-5)/.test(model);
}

/** A turn that answers, with the calls of the turn before it. */
function repliesOf(
  request: StrictRequest,
): readonly { at: number; calls: readonly string[]; results: readonly string[] }[] {
  const turns = turnsOf(request).filter(({ role }) => role !== 'system');
  return turns.map((turn, index) => ({
    at: turn.at,
    calls: turns[index - 1]?.role === 'assistant' ? idsOf(turns[index - 1] ?? turn, 'tool_use', 'id') : [],
    results: turn.role === 'user' ? idsOf(turn, 'tool_result', 'tool_use_id') : [],
  }));
}

function lastTurn(request: StrictRequest): { readonly role: string; readonly text: string | undefined } {
  const last = turnsOf(request).at(-1);
  const block = last?.blocks.at(-1);
  return { role: last?.role ?? '', text: block?.['type'] === 'text' ? read.string(block['text']) : undefined };
}

/** Rules of turns and blocks. */
export const ANTHROPIC_MESSAGE_RULES: readonly StrictRule[] = [
  {
    id: 'anthropic/messages-empty',
    checks: 'a conversation without messages',
    words: 'messages: at least one message is required',
    source: REFERENCE,
    date: '2026-08',
    find: (request) => (turnsOf(request).length === 0 ? {} : undefined),
  },
  {
    id: 'anthropic/role',
    checks: 'another role than user and assistant, or system where the model takes it',
    words:
      'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    source: REFERENCE,
    date: '2026-08',
    find(request) {
      const roles = new Set(['user', 'assistant', ...(takesSystemTurns(request.model) ? ['system'] : [])]);
      const wrong = turnsOf(request).find(({ role }) => !roles.has(role));
      return wrong && { role: wrong.role };
    },
  },
  {
    id: 'anthropic/first-role',
    checks: 'a conversation whose first turn is not the user’s',
    words: 'messages: first message must use the "user" role',
    source: `${REFERENCE}, messages`,
    date: '2024-08',
    find: (request) => ((turnsOf(request)[0]?.role ?? 'user') === 'user' ? undefined : {}),
  },
  {
    id: 'anthropic/content-empty',
    checks: 'a turn without content',
    words: 'messages.{at}: all messages must have non-empty content except for the optional final assistant message',
    source: 'anthropics/claude-code, issue 4416 and issue 6774',
    date: '2025-08-28',
    find(request) {
      const turns = turnsOf(request);
      const wrong = turns.find(
        ({ at, role, content, blocks }) =>
          (content === '' || blocks.length === 0) && !(role === 'assistant' && at === turns.length - 1),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'anthropic/text-empty',
    checks: 'an empty block of text',
    words: 'messages: text content blocks must be non-empty',
    source: 'anthropics/claude-code, issue 62396',
    date: '2026-05',
    find: (request) => blockWith(request, ({ type, text }) => type === 'text' && (text ?? '') === ''),
  },
  {
    id: 'anthropic/text-blank',
    checks: 'a turn whose texts are nothing but white space',
    words: 'messages: text content blocks must contain non-whitespace text',
    source: 'LibreChat-AI/agents, pull request 124; home-assistant/core, issue 175637',
    date: '2026-07-04',
    find(request) {
      const wrong = turnsOf(request).find(({ blocks }) => {
        const texts = blocks.flatMap(({ type, text }) => (type === 'text' ? [read.string(text) ?? ''] : []));
        return texts.length > 0 && texts.every((text) => text.trim() === '');
      });
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'anthropic/trailing-space',
    checks: 'a last assistant turn that ends with white space',
    words: 'messages: final assistant content cannot end with trailing whitespace',
    source: 'tailcallhq/forgecode, issue 1872',
    date: '2025-11-08',
    find(request) {
      const { role, text } = lastTurn(request);
      return role === 'assistant' && text !== undefined && text !== text.trimEnd() ? {} : undefined;
    },
  },
  {
    id: 'anthropic/prefill',
    checks: 'a conversation that ends with an assistant turn, for a model that continues none',
    words: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    source: 'BerriAI/litellm, issue 36267; Anthropic, page "Migration guide"',
    date: '2026-08',
    find: (request) =>
      lastTurn(request).role === 'assistant' && !anthropicFamily(request.model).takesPrefill ? {} : undefined,
  },
  {
    id: 'anthropic/prefill-thinking',
    checks: 'a conversation that ends with an assistant turn while thinking, or with a format',
    words: 'messages: the last message cannot be an assistant message when `thinking` or `output_config.format` is set',
    source: THINKING,
    date: '2026-08',
    find: (request) => {
      const thinks = ['enabled', 'adaptive'].includes(thinkingOf(request) ?? '');
      const formatted = 'format' in read.object(request.body['output_config']);
      return lastTurn(request).role === 'assistant' && (thinks || formatted) ? {} : undefined;
    },
  },
  {
    id: 'anthropic/call-without-result',
    checks: 'a call whose result is not in the next turn',
    words:
      'messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    source: 'anthropics/claude-code, issue 7929; aliasrobotics/cai, issue 182',
    date: '2025-09-20',
    find(request) {
      const turns = turnsOf(request).filter(({ role }) => role !== 'system');
      for (const [index, turn] of turns.entries()) {
        const calls = turn.role === 'assistant' ? idsOf(turn, 'tool_use', 'id') : [];
        const next = turns[index + 1];
        const results = next?.role === 'user' ? idsOf(next, 'tool_result', 'tool_use_id') : [];
        const missing = calls.filter((id) => !results.includes(id));
        if (missing.length > 0) return { at: turn.at, ids: missing.join(', ') };
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/result-without-call',
    checks: 'a result whose call is not in the turn before',
    words:
      'messages.{at}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    source: 'anthropics/claude-code, issue 18947; tghamm/Anthropic.SDK, issue 184',
    date: '2026-02-16',
    find(request) {
      for (const { at, calls, results } of repliesOf(request)) {
        const id = results.find((one) => !calls.includes(one));
        if (id !== undefined) return { at, id };
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/result-twice',
    checks: 'a second result of a call',
    words:
      'messages.{at}.content: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}',
    source: TOOL_USE,
    date: '2026-08',
    find(request) {
      for (const { at, results } of repliesOf(request)) {
        const id = results.find((one, index) => results.indexOf(one) !== index);
        if (id !== undefined) return { at, id };
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/result-first',
    checks: 'a result behind other blocks of its turn',
    words:
      'messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    source: `${TOOL_USE}, "tool_result blocks must come first in the content array"`,
    date: '2026-08',
    find(request) {
      for (const { at, role, blocks } of turnsOf(request)) {
        if (role !== 'user') continue;
        const other = blocks.findIndex(({ type }) => type !== 'tool_result');
        const late = other < 0 ? undefined : blocks.slice(other).find(({ type }) => type === 'tool_result');
        if (late !== undefined) return { at, id: shown(late['tool_use_id']) };
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/call-ids-unique',
    checks: 'an id of two calls',
    words: 'messages.{at}.content: `tool_use` ids must be unique',
    source: TOOL_USE,
    date: '2026-08',
    find(request) {
      const seen = new Set<string>();
      for (const turn of turnsOf(request)) {
        for (const id of idsOf(turn, 'tool_use', 'id')) {
          if (seen.has(id)) return { at: turn.at };
          seen.add(id);
        }
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/call-id-pattern',
    checks: 'an id of a call with other characters than letters, digits, underscores and dashes',
    words: "messages.{at}.content.{block}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    source: REFERENCE,
    date: '2026-08',
    find: (request) => blockWith(request, ({ type, id }) => type === 'tool_use' && !ID.test(shown(id))),
  },
  {
    id: 'anthropic/call-input',
    checks: 'an input of a call that is no object',
    words: 'messages.{at}.content.{block}.tool_use.input: Input should be a valid dictionary',
    source: REFERENCE,
    date: '2026-08',
    find: (request) =>
      blockWith(
        request,
        ({ type, input }) =>
          type === 'tool_use' && (typeof input !== 'object' || input === null || Array.isArray(input)),
      ),
  },
  {
    id: 'anthropic/tools-missing',
    checks: 'calls or results in the conversation of a request without tools',
    words: 'Requests which include `tool_use` or `tool_result` blocks must define tools.',
    source: 'BerriAI/litellm, documentation of the setting modify_params',
    date: '2026-08',
    find: (request) =>
      ownTools(request).length === 0 && read.list(request.body['tools']).length === 0
        ? blockWith(request, ({ type }) => type === 'tool_use' || type === 'tool_result')
        : undefined,
  },
  {
    id: 'anthropic/block-type',
    checks: 'a block of a type that its role does not take',
    words:
      "messages.{at}.content.{block}: Input tag '{type}' found using 'type' does not match any of the expected tags",
    source: REFERENCE,
    date: '2026-08',
    find: (request) =>
      blockWith(request, ({ type }, { role }) => {
        const known = role === 'assistant' ? ASSISTANT_BLOCKS : role === 'system' ? ['text'] : USER_BLOCKS;
        return !known.includes(shown(type));
      }),
  },
  {
    id: 'anthropic/block-member',
    checks: 'a member that a block does not have',
    words: 'messages.{at}.content.{block}.{member}: Extra inputs are not permitted',
    source: 'anthropics/claude-code, issue 4378',
    date: '2025-07-25',
    find(request) {
      for (const { at, blocks } of turnsOf(request)) {
        for (const [block, fields] of blocks.entries()) {
          const member = memberOutside(fields, MEMBERS[shown(fields['type'])] ?? new Set(Object.keys(fields)));
          if (member !== undefined) return { at, block, member: `${shown(fields['type'])}.${member}` };
        }
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/thinking-unsigned',
    checks: 'a block of thinking without its signature',
    words: 'messages.{at}.content.{block}.thinking.signature: Field required',
    source: `${THINKING}; NousResearch/hermes-agent, issue 4626`,
    date: '2026-08',
    find: (request) => blockWith(request, ({ type, signature }) => type === 'thinking' && !read.isText(signature)),
  },
  {
    id: 'anthropic/thinking-first',
    checks: 'with a budget of thinking, a turn of calls under way that does not begin with a block of thinking',
    words:
      'messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{type}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.',
    source: THINKING,
    date: '2026-08',
    find(request) {
      if (thinkingOf(request) !== 'enabled') return undefined;
      const turns = turnsOf(request);
      const last = turns.at(-1);
      if (last?.role !== 'user' || idsOf(last, 'tool_result', 'tool_use_id').length === 0) return undefined;
      const calls = turns.at(-2);
      const type = shown(calls?.blocks[0]?.['type']);
      return calls === undefined || type === 'thinking' || type === 'redacted_thinking'
        ? undefined
        : { at: calls.at, type };
    },
  },
  {
    id: 'anthropic/image-type',
    checks: 'a picture by its data of another type than JPEG, PNG, GIF and WebP',
    words:
      "messages.{at}.content.{block}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    source: 'Anthropic, page "Vision"',
    date: '2026-08',
    find: (request) =>
      blockWith(request, ({ type, source }) => {
        const { type: kind, media_type: media } = read.object(source);
        return type === 'image' && kind === 'base64' && !IMAGES.has(shown(media));
      }),
  },
  {
    id: 'anthropic/document-type',
    checks: 'a document by its data of another type than PDF, or a text of another type than plain',
    words: "messages.{at}.content.{block}.document.source.base64.media_type: Input should be 'application/pdf'",
    source: 'Anthropic, page "PDF support"',
    date: '2026-08',
    find: (request) =>
      blockWith(request, ({ type, source }) => {
        const { type: kind, media_type: media } = read.object(source);
        const right = kind === 'base64' ? 'application/pdf' : kind === 'text' ? 'text/plain' : media;
        return type === 'document' && media !== right;
      }),
  },
  {
    id: 'anthropic/marks-most',
    checks: 'more than four cache marks',
    words: 'A maximum of 4 blocks with cache_control may be provided. Found {count}.',
    source: CACHING,
    date: '2026-08',
    find(request) {
      const count = markLifetimes(request).length;
      return count > MOST_MARKS ? { count } : undefined;
    },
  },
  {
    id: 'anthropic/marks-order',
    checks: 'a cache mark of an hour behind one of minutes',
    words:
      "messages: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    source: CACHING,
    date: '2026-08',
    find(request) {
      const marks = markLifetimes({ body: { ...request.body, cache_control: null } });
      const short = marks.indexOf('5m');
      return short >= 0 && marks.lastIndexOf('1h') > short ? {} : undefined;
    },
  },
  {
    id: 'anthropic/mark-on-thinking',
    checks: 'a cache mark on a block of thinking, or on an empty string',
    words: 'messages.{at}.content.{block}.{type}.cache_control: cache_control cannot be set for {type} blocks',
    source: CACHING,
    date: '2026-08',
    find: (request) =>
      blockWith(
        request,
        ({ type, text, cache_control: mark }) =>
          mark !== undefined &&
          (type === 'thinking' || type === 'redacted_thinking' || (type === 'text' && text === '')),
      ),
  },
];
