/** What xAI refuses. */
import * as read from '../../platform/json.ts';
import { messagesOf, partOf, tokensOf, toolsOf } from './chat-body.ts';
import type { StrictRule } from './rule.ts';

const REFERENCE = 'xAI, API reference "Chat completions"';
const REASONING = 'xAI, guide "Reasoning"';
const MOST_TOOLS = 128;
const MOST_STOPS = 4;

/** Efforts of the models that take them; the others refuse the parameter, and a model without a row is not checked. */
const EFFORTS: readonly (readonly [name: RegExp, efforts: readonly string[]])[] = [
  [/^grok-3-mini/, ['low', 'high']],
  [/^grok-(?:4(?:-0709|-fast|-1-fast)?(?:-|$)|code|3(?:-|$))/, []],
];

/** Whether a model always reasons, and so takes no penalties and no stop sequences. */
function reasons(model: string): boolean {
  return /^grok-(?:4(?!.*non-reasoning)|3-mini|code)/.test(model);
}

/** Rules of chat completions. */
export const XAI_RULES: readonly StrictRule[] = [
  {
    id: 'xai/content-empty',
    checks: 'a message without content, other than an assistant with calls',
    words: 'Invalid request content: Each message must have at least one content element.',
    source: 'charmbracelet/crush, issue 964; AstrBotDevs/AstrBot, issue 6447',
    date: '2026-03-16',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ role, content, parts, calls }) =>
          !(role === 'assistant' && calls.length > 0) && role !== 'tool' && !read.isText(content) && parts.length === 0,
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'xai/effort-refused',
    checks: 'an effort for a model that takes none',
    words: 'Model {model} does not support parameter reasoningEffort.',
    source: 'charmbracelet/catwalk, pull request 181; xAI, page "Models"',
    date: '2026-02-13',
    find({ body, model }) {
      const efforts = EFFORTS.find(([name]) => name.test(model))?.[1];
      return read.isText(body['reasoning_effort']) && efforts?.length === 0 ? { model } : undefined;
    },
  },
  {
    id: 'xai/effort-value',
    checks: 'an effort that the model does not take',
    words: 'Invalid reasoning effort: {effort}',
    source: 'egoist/chatwise-releases, issue 515',
    date: '2025-04-15',
    find({ body, model }) {
      const efforts = EFFORTS.find(([name]) => name.test(model))?.[1] ?? [];
      const effort = read.text(body['reasoning_effort']);
      return effort === undefined || efforts.length === 0 || efforts.includes(effort) ? undefined : { effort };
    },
  },
  {
    id: 'xai/penalties-and-stop',
    checks: 'penalties or stop sequences for a model that reasons',
    words: 'Argument not supported on this model: {name}',
    source: `${REASONING}; decolua/9router, issue 536`,
    date: '2026-04',
    find({ body, model }) {
      if (!reasons(model)) return undefined;
      const names = { presence_penalty: 'presencePenalty', frequency_penalty: 'frequencyPenalty', stop: 'stop' };
      const found = Object.entries(names).find(([name]) => body[name] !== undefined && body[name] !== null);
      return found && { name: found[1] };
    },
  },
  {
    id: 'xai/part-type',
    checks: 'a picture or a file in a message whose role is not user',
    words: 'Invalid request content: {type} content is only supported in user messages.',
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      partOf(messagesOf(request), ({ type }, { role }) => role !== 'user' && type !== 'text' && type !== 'refusal'),
  },
  {
    id: 'xai/role',
    checks: 'a role that it does not have',
    status: 422,
    words:
      'Failed to deserialize the JSON body into the target type: messages[{at}].role: unknown variant `{role}`, expected one of `system`, `developer`, `user`, `assistant`, `tool`, `function`',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);
      const wrong = messagesOf(request).find(({ role }) => !roles.has(role));
      return wrong && { at: wrong.at, role: wrong.role };
    },
  },
  {
    id: 'xai/tools-most',
    checks: 'more than 128 functions',
    words: 'A maximum of 128 tools is supported, but got {length}.',
    source: `${REFERENCE}, tools`,
    date: '2026-11',
    find(request) {
      const { length } = toolsOf(request);
      return length > MOST_TOOLS ? { length } : undefined;
    },
  },
  {
    id: 'xai/stops-most',
    checks: 'more than four stop sequences',
    words: 'Invalid stop sequences: at most 4 are supported.',
    source: `${REFERENCE}, stop`,
    date: '2026-11',
    find: ({ body }) => (read.list(body['stop']).length > MOST_STOPS ? {} : undefined),
  },
  {
    id: 'xai/choice-without-tools',
    checks: 'a forced call without tools',
    words: 'A tool_choice was set on the request but no tools were specified.',
    source: 'xAI, guide "Function calling"',
    date: '2026-11',
    find(request) {
      const { tool_choice: choice } = request.body;
      return choice !== undefined && choice !== null && read.list(request.body['tools']).length === 0 ? {} : undefined;
    },
  },
  {
    id: 'xai/too-long',
    checks: 'more than the context window holds',
    words: "This model's maximum prompt length is {most} but the request contains {tokens} tokens.",
    source: 'earendil-works/pi, issue 4943',
    date: '2026-07',
    find(request) {
      const tokens = tokensOf(request);
      return tokens > request.contextTokens ? { most: request.contextTokens, tokens } : undefined;
    },
  },
];
