/** What DeepSeek refuses. */
import * as read from '../../platform/json.ts';
import {
  formatTypeOf,
  messagesOf,
  partOf,
  repeatedResult,
  strayResult,
  textOf,
  tokensOf,
  toolsOf,
  unansweredCalls,
} from './chat-body.ts';
import type { StrictRequest, StrictRule } from './rule.ts';

const REFERENCE = 'DeepSeek, API reference "Create Chat Completion"';
const THINKING = 'DeepSeek, page "Thinking Mode"';
const BODY = 'Failed to deserialize the JSON body into the target type: ';

const ROLES = new Set(['system', 'user', 'assistant', 'tool']);
const EFFORTS = new Set(['low', 'medium', 'high', 'xhigh', 'max']);
const NAME = /^[a-zA-Z0-9_-]+$/;
const LONGEST_NAME = 64;
const MOST_TOOLS = 128;
const MOST_STOPS = 16;

/** Whether the model thinks: the V4 family does unless that is disabled, the chat model only where it is enabled. */
function thinks({ body, model }: StrictRequest): boolean {
  const type = read.string(read.object(body['thinking'])['type']);
  return type === undefined ? !model.includes('chat') : type === 'enabled';
}

/** Rules of chat completions. */
export const DEEPSEEK_RULES: readonly StrictRule[] = [
  {
    id: 'deepseek/role',
    checks: 'another role than system, user, assistant and tool',
    words: `${BODY}messages[{at}].role: unknown variant \`{role}\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\`, \`latest_reminder\` at line 1 column {column}`,
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(({ role }) => !ROLES.has(role));
      return wrong && { at: wrong.at, role: wrong.role, column: request.length };
    },
  },
  {
    id: 'deepseek/content-sequence',
    checks: 'a list of parts in a message of the system, an assistant or a tool',
    words: `${BODY}messages[{at}]: invalid type: sequence, expected a string at line 1 column {column}`,
    source: 'Gitlawb/openclaude, issue 774 and issue 806; cline/cline, issue 230; QwenLM/qwen-code, issue 2320',
    date: '2026-04',
    find(request) {
      const wrong = messagesOf(request).find(({ role, content }) => role !== 'user' && Array.isArray(content));
      return wrong && { at: wrong.at, column: request.length };
    },
  },
  {
    id: 'deepseek/part-type',
    checks: 'another part than text',
    words: `${BODY}messages[{at}]: unknown variant \`{type}\`, expected \`text\` at line 1 column {column}`,
    source: 'nesquena/hermes-webui, issue 2297; esengine/DeepSeek-Reasonix, issue 7859',
    date: '2026-08-07',
    find(request) {
      const found = partOf(messagesOf(request), ({ type }) => type !== 'text');
      return found && { ...found, column: request.length };
    },
  },
  {
    id: 'deepseek/result-without-call',
    checks: 'a result that answers no call of the turn right before it',
    words: "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    source: 'FoundationAgents/OpenManus, issue 744 and issue 23; itmisx/deepx-code, issue 94',
    date: '2026-06-10',
    find: (request) => strayResult(messagesOf(request)),
  },
  {
    id: 'deepseek/call-without-result',
    checks: 'a call that has no result right behind it',
    words:
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
    source: 'microsoft/vscode, issue 299295; diegosouzapw/OmniRoute, issue 1412',
    date: '2026-03',
    find: (request) => unansweredCalls(messagesOf(request)),
  },
  {
    id: 'deepseek/result-twice',
    checks: 'a second result of a call',
    words: "Duplicate value for 'tool_call_id' of {id} in message[{at}]",
    source: REFERENCE,
    date: '2026-11',
    find: (request) => repeatedResult(messagesOf(request)),
  },
  {
    id: 'deepseek/reasoning-missing',
    checks: 'while thinking, a turn with calls without its reasoning_content',
    words: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    source: `${THINKING}; earendil-works/pi, issue 3636; qwersyk/Newelle, issue 404; NousResearch/hermes-agent, issue 14973`,
    date: '2026-07-04',
    find(request) {
      if (!thinks(request)) return undefined;
      const wrong = messagesOf(request).find(
        ({ role, calls, fields }) =>
          role === 'assistant' && calls.length > 0 && typeof fields['reasoning_content'] !== 'string',
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'deepseek/forced-while-thinking',
    checks: 'while thinking, another choice of tools than auto and none',
    words: 'Thinking mode does not support this tool_choice',
    source: 'deepseek-ai/DeepSeek-V3, issue 1376; XiaomiMiMo/MiMo-Code, issue 2068',
    date: '2026-08-21',
    find(request) {
      const { tool_choice: choice } = request.body;
      const free = choice === undefined || choice === null || choice === 'auto' || choice === 'none';
      return !free && thinks(request) ? {} : undefined;
    },
  },
  {
    id: 'deepseek/format-type',
    checks: 'the response format json_schema',
    words: 'This response_format type is unavailable now',
    source: `${REFERENCE}, response_format; DeepSeek, page "JSON Output"`,
    date: '2026-11',
    find: (request) => (['text', 'json_object'].includes(formatTypeOf(request)) ? undefined : {}),
  },
  {
    id: 'deepseek/json-word',
    checks: 'the response format json_object where no message says JSON',
    words: "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
    source: 'DeepSeek, page "JSON Output"',
    date: '2026-11',
    find: (request) =>
      formatTypeOf(request) === 'json_object' && !/json/i.test(textOf(messagesOf(request))) ? {} : undefined,
  },
  {
    id: 'deepseek/effort',
    checks: 'an effort that it does not have',
    words: `${BODY}reasoning_effort: unknown variant \`{effort}\`, expected one of \`low\`, \`medium\`, \`high\`, \`xhigh\`, \`max\` at line 1 column {column}`,
    source: THINKING,
    date: '2026-11',
    find({ body, length }) {
      const effort = read.text(body['reasoning_effort']);
      return effort === undefined || EFFORTS.has(effort) ? undefined : { effort, column: length };
    },
  },
  {
    id: 'deepseek/content-missing',
    checks: 'an assistant without content and calls, or another message without content',
    words: 'Invalid assistant message: content or tool_calls must be set',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ content, calls }) => (content === null || content === undefined) && calls.length === 0,
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'deepseek/tool-name-pattern',
    checks: 'a function name with other characters than letters, digits, underscores and dashes',
    words:
      "Invalid 'tools[{at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = toolsOf(request).find(({ name }) => !NAME.test(name));
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'deepseek/tool-name-length',
    checks: 'a function name of more than 64 characters',
    words:
      "Invalid 'tools[{at}].function.name': string too long. Expected a string with maximum length 64, but got a string with length {length} instead.",
    source: 'mrexodia/ida-pro-mcp, issue 129',
    date: '2025-09-06',
    find(request) {
      const wrong = toolsOf(request).find(({ name }) => name.length > LONGEST_NAME);
      return wrong && { at: wrong.at, length: wrong.name.length };
    },
  },
  {
    id: 'deepseek/tools-most',
    checks: 'more than 128 functions',
    words:
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length {length} instead.",
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const { length } = read.list(body['tools']);
      return length > MOST_TOOLS ? { length } : undefined;
    },
  },
  {
    id: 'deepseek/stops-most',
    checks: 'more than 16 stop sequences',
    words: 'Invalid stop sequences: at most 16 are supported, but got {length}',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const { length } = read.list(body['stop']);
      return length > MOST_STOPS ? { length } : undefined;
    },
  },
  {
    id: 'deepseek/range',
    checks: 'a temperature above 2, or a top_p above 1',
    words: 'Invalid {name} value, the valid range of {name} is [0, {most}]',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const ranges = { temperature: 2, top_p: 1 } as const;
      for (const [name, most] of Object.entries(ranges)) {
        const value = read.number(body[name]);
        if (value !== undefined && (value < 0 || value > most)) return { name, most };
      }
      return undefined;
    },
  },
  {
    id: 'deepseek/too-long',
    checks: 'more than the context window holds',
    words:
      "This model's maximum context length is {most} tokens. However, you requested {tokens} tokens ({tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
    source: 'DeepSeek, page "Error Codes"; earendil-works/pi, issue 4943',
    date: '2026-07',
    find(request) {
      const tokens = tokensOf(request);
      return tokens > request.contextTokens ? { most: request.contextTokens, tokens } : undefined;
    },
  },
];
