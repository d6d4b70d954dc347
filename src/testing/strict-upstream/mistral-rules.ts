/** What Mistral refuses. */
import * as read from '../../platform/json.ts';
import { type ChatMessage, memberOutside, messagesOf, partOf, tokensOf, toolsOf } from './chat-body.ts';
import { type StrictRule, shown } from './rule.ts';

const REFERENCE = 'Mistral, API reference "Chat Completion"';
const ORDER = { type: 'invalid_request_message_order', code: '3230' } as const;

const PARAMETERS = new Set(
  (
    'model messages temperature top_p max_tokens stream stop random_seed metadata n response_format ' +
    'tools tool_choice presence_penalty frequency_penalty prediction parallel_tool_calls prompt_mode ' +
    'reasoning_effort safe_prompt guardrails prompt_cache_key service_tier'
  ).split(' '),
);
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  system: new Set(['role', 'content']),
  user: new Set(['role', 'content']),
  assistant: new Set(['role', 'content', 'tool_calls', 'prefix']),
  tool: new Set(['role', 'content', 'tool_call_id', 'name']),
};
const PART_TYPES: Readonly<Record<string, readonly string[]>> = {
  system: ['text', 'thinking'],
  user: ['text', 'image_url', 'document_url', 'reference', 'file', 'input_audio'],
  assistant: ['text', 'thinking', 'reference'],
  tool: ['text', 'image_url', 'document_url', 'reference'],
};

/** Which roles may be behind each role. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  system: ['system', 'user', 'assistant'],
  user: ['user', 'assistant', 'system'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['tool', 'assistant'],
};

const ID = /^[a-zA-Z0-9]{9}$/;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const EFFORTS = new Set(['none', 'low', 'medium', 'high', 'max']);
const MOST_TEMPERATURE = 1.5;

/** Results right behind a message. */
function resultsBehind(messages: readonly ChatMessage[], at: number): number {
  const behind = messages.slice(at + 1);
  const end = behind.findIndex(({ role }) => role !== 'tool');
  return end < 0 ? behind.length : end;
}

/** Rules of chat completions. */
export const MISTRAL_RULES: readonly StrictRule[] = [
  {
    id: 'mistral/parameter-unknown',
    checks: 'a parameter that it does not have, such as max_completion_tokens, stream_options and seed',
    status: 422,
    words: 'body.{name}: Extra inputs are not permitted',
    param: 'body.{name}',
    type: 'extra_forbidden',
    source: 'editor-code-assistant/eca, issue 231; mistralai/platform-docs-public, issue 7',
    date: '2025-12-12',
    find({ body }) {
      const name = memberOutside(body, PARAMETERS);
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'mistral/message-member',
    checks: 'a member of a message that it does not have, such as name and reasoning_content',
    status: 422,
    words: 'body.messages.{at}.{role}.{member}: Extra inputs are not permitted',
    param: 'body.messages.{at}.{role}.{member}',
    type: 'extra_forbidden',
    source:
      'charmbracelet/crush, issue 1590; BerriAI/litellm, issue 30835; Gage-Technologies/mistral-go, pull request 2',
    date: '2026-06-19',
    find(request) {
      for (const { at, role, fields } of messagesOf(request)) {
        const known = MEMBERS[role];
        const member = known === undefined ? undefined : memberOutside(fields, known);
        if (member !== undefined) return { at, role, member };
      }
      return undefined;
    },
  },
  {
    id: 'mistral/part-type',
    checks: 'a part of a type that the role of its message does not take',
    status: 422,
    words:
      "body.messages.{at}.{role}.content.{part}: Input tag '{type}' found using 'type' does not match any of the expected tags",
    param: 'body.messages.{at}.{role}.content.{part}',
    type: 'union_tag_invalid',
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      partOf(messagesOf(request), ({ type }, { role }) => PART_TYPES[role]?.includes(shown(type)) === false),
  },
  {
    id: 'mistral/part-member',
    checks: 'a mark for caching on a part',
    status: 422,
    words: 'body.messages.{at}.{role}.content.{part}.cache_control: Extra inputs are not permitted',
    param: 'body.messages.{at}.{role}.content.{part}.cache_control',
    type: 'extra_forbidden',
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      partOf(messagesOf(request), (part) => 'cache_control' in part || 'prompt_cache_breakpoint' in part),
  },
  {
    id: 'mistral/role',
    checks: 'another role than system, user, assistant and tool',
    status: 422,
    words:
      "body.messages.{at}: Input tag '{role}' found using 'role' does not match any of the expected tags: 'assistant', 'system', 'tool', 'user'",
    param: 'body.messages.{at}',
    type: 'union_tag_invalid',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(({ role }) => MEMBERS[role] === undefined);
      return wrong && { at: wrong.at, role: wrong.role };
    },
  },
  {
    id: 'mistral/role-order',
    checks: 'a user or a system turn behind a result, a system turn behind an assistant, a result behind a user',
    words: "Unexpected role '{role}' after role '{before}'",
    ...ORDER,
    source: 'datapizza-labs/datapizza-ai, issue 98; charmbracelet/crush, issue 279; zed-industries/zed, issue 37021',
    date: '2025-12-04',
    find(request) {
      const messages = messagesOf(request);
      for (const [index, { role }] of messages.entries()) {
        const before = messages[index - 1]?.role;
        if (before !== undefined && NEXT[before]?.includes(role) === false) return { role, before };
      }
      return messages[0]?.role === 'tool' ? { role: 'tool', before: 'none' } : undefined;
    },
  },
  {
    id: 'mistral/last-role',
    checks: 'a conversation that ends with an assistant without the mark of a prefix, or with a system turn',
    words: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got {role}',
    ...ORDER,
    source: '0xPlaygrounds/rig, pull request 1130; pipecat-ai/pipecat, pull request 2408',
    date: '2025-12-08',
    find(request) {
      const last = messagesOf(request).at(-1);
      if (last === undefined || last.role === 'user' || last.role === 'tool') return undefined;
      return last.role === 'assistant' && last.fields['prefix'] === true ? undefined : { role: last.role };
    },
  },
  {
    id: 'mistral/result-count',
    checks: 'another number of results behind calls than of calls',
    words: 'Not the same number of function calls and responses',
    type: 'invalid_request_error',
    source: 'mistralai/client-ts, issue 106; camel-ai/camel, issue 1467',
    date: '2025-06-01',
    find(request) {
      const messages = messagesOf(request);
      const wrong = messages.find(
        ({ at, role, calls }) => role === 'assistant' && calls.length !== resultsBehind(messages, at),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'mistral/call-id',
    checks: 'an id of a call that is not nine letters and digits',
    words: 'Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.',
    code: '3280',
    source: 'vllm-project/vllm, documentation "Tool calling", Mistral models; mistralai/mistral-common, validator',
    date: '2026-11',
    find(request) {
      const ids = messagesOf(request).flatMap(({ calls, role, answers = '' }) =>
        role === 'tool' ? [answers] : calls.map(({ id }) => id),
      );
      const id = ids.find((one) => !ID.test(one));
      return id === undefined ? undefined : { id };
    },
  },
  {
    id: 'mistral/assistant-empty',
    checks: 'an assistant with neither content nor calls',
    words: 'Assistant message must have either content or tool_calls, but not none.',
    code: '3240',
    source: 'mistralai/mistral-common, validator; charmbracelet/crush, issue 1590',
    date: '2025-12-10',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ role, content, calls, parts }) =>
          role === 'assistant' && calls.length === 0 && !read.isText(content) && parts.length === 0,
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'mistral/function-name',
    checks: 'a function name with other characters than letters, digits, underscores and dashes, or of more than 64',
    words:
      'Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.',
    code: '3310',
    source: 'mistralai/mistral-common, validator',
    date: '2026-11',
    find(request) {
      const names = [
        ...toolsOf(request).map(({ name }) => name),
        ...messagesOf(request).flatMap(({ calls }) => calls.map(({ name }) => name)),
      ];
      const name = names.find((one) => !NAME.test(one));
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'mistral/tools-empty',
    checks: 'an empty list of tools',
    status: 422,
    words: 'body.tools: Extra inputs are not permitted',
    param: 'body.tools',
    type: 'extra_forbidden',
    source: 'partITech/php-mistral, issue 76',
    date: '2025-11-13',
    find: ({ body }) => (Array.isArray(body['tools']) && body['tools'].length === 0 ? {} : undefined),
  },
  {
    id: 'mistral/temperature',
    checks: 'a temperature above 1.5',
    status: 422,
    words: 'body.temperature: Input should be less than or equal to 1.5',
    param: 'body.temperature',
    type: 'less_than_equal',
    source: REFERENCE,
    date: '2026-11',
    find: ({ body }) => ((read.number(body['temperature']) ?? 0) > MOST_TEMPERATURE ? {} : undefined),
  },
  {
    id: 'mistral/effort',
    checks: 'an effort that it does not have',
    status: 422,
    words: "body.reasoning_effort: Input should be 'none', 'low', 'medium', 'high' or 'max'",
    param: 'body.reasoning_effort',
    type: 'enum',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const effort = read.text(body['reasoning_effort']);
      return effort === undefined || EFFORTS.has(effort) ? undefined : {};
    },
  },
  {
    id: 'mistral/too-long',
    checks: 'more than the context window holds',
    words: 'Prompt contains {tokens} tokens and 0 draft tokens, too large for model with {most} maximum context length',
    code: '3051',
    source: 'earendil-works/pi, issue 5930',
    date: '2026-07',
    find(request) {
      const tokens = tokensOf(request);
      return tokens > request.contextTokens ? { most: request.contextTokens, tokens } : undefined;
    },
  },
];
