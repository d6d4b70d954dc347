/** What OpenAI refuses in messages of chat completions. */
import * as read from '../../platform/json.ts';
import { isJsonObject } from '../../protocol/json.ts';
import {
  formatTypeOf,
  memberOutside,
  messagesOf,
  partOf,
  repeatedResult,
  strayResult,
  textOf,
  tokensOf,
  unansweredCalls,
} from './chat-body.ts';
import { type StrictRule, shown } from './rule.ts';

const REFERENCE = 'OpenAI, API reference "Create chat completion"';

const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  developer: new Set(['role', 'content', 'name']),
  system: new Set(['role', 'content', 'name']),
  user: new Set(['role', 'content', 'name']),
  assistant: new Set(['role', 'content', 'name', 'refusal', 'tool_calls', 'audio', 'function_call']),
  tool: new Set(['role', 'content', 'tool_call_id']),
  function: new Set(['role', 'content', 'name']),
};

const PART_TYPES: Readonly<Record<string, readonly string[]>> = {
  developer: ['text'],
  system: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
};

const PART_MEMBERS = new Set([
  'type',
  'text',
  'image_url',
  'input_audio',
  'file',
  'refusal',
  'prompt_cache_breakpoint',
]);
const IMAGES = /^data:image\/(?:png|jpe?g|gif|webp);base64,/i;
const LONGEST_ID = 40;
const MESSAGE_NAME = /^[^\s<|\\/>]+$/;

/** Rules of messages. */
export const OPENAI_MESSAGE_RULES: readonly StrictRule[] = [
  {
    id: 'openai/messages-empty',
    checks: 'a conversation without messages',
    words: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    code: 'empty_array',
    param: 'messages',
    source: 'CopilotKit/CopilotKit, issue 529',
    date: '2024-08-11',
    find: (request) => (messagesOf(request).length === 0 ? {} : undefined),
  },
  {
    id: 'openai/role-unknown',
    checks: 'a role that it does not have',
    words:
      "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    code: 'invalid_value',
    param: 'messages[{at}].role',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(({ role }) => MEMBERS[role] === undefined);
      return wrong && { at: wrong.at, role: wrong.role };
    },
  },
  {
    id: 'openai/message-member',
    checks: 'a member of a message that it does not have, such as reasoning_content',
    words: "Unknown parameter: 'messages[{at}].{member}'.",
    code: 'unknown_parameter',
    param: 'messages[{at}].{member}',
    source: `${REFERENCE}; teabranch/open-responses-server, issue 41 (the words)`,
    date: '2026-11',
    find(request) {
      for (const { at, role, fields } of messagesOf(request)) {
        const member = memberOutside(fields, MEMBERS[role] ?? new Set(Object.keys(fields)));
        if (member !== undefined) return { at, member };
      }
      return undefined;
    },
  },
  {
    id: 'openai/part-member',
    checks: 'a member of a part that it does not have, such as cache_control',
    words: "Unknown parameter: 'messages[{at}].content[{part}].{member}'.",
    code: 'unknown_parameter',
    param: 'messages[{at}].content[{part}].{member}',
    source: `${REFERENCE}; teabranch/open-responses-server, issue 41 (the words)`,
    date: '2026-11',
    find(request) {
      for (const { at, parts } of messagesOf(request)) {
        for (const [part, fields] of parts.entries()) {
          const member = memberOutside(fields, PART_MEMBERS);
          if (member !== undefined) return { at, part, member };
        }
      }
      return undefined;
    },
  },
  {
    id: 'openai/image-outside-user',
    checks: 'a picture in a message whose role is not user',
    words:
      "Invalid 'messages[{at}]'. Image URLs are only allowed for messages with role 'user', but this message with role '{role}' contains an image URL.",
    code: 'invalid_value',
    param: 'messages[{at}]',
    source: 'All-Hands-AI/OpenHands, issue 7700 and issue 10200',
    date: '2025-08',
    find: (request) => partOf(messagesOf(request), ({ type }, { role }) => type === 'image_url' && role !== 'user'),
  },
  {
    id: 'openai/part-type',
    checks: 'a part of a type that the role of its message does not take',
    words: "Invalid value: '{type}'. Supported values are: {known}.",
    code: 'invalid_value',
    param: 'messages[{at}].content[{part}]',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const found = partOf(
        messagesOf(request),
        ({ type }, { role }) => PART_TYPES[role]?.includes(shown(type)) === false,
      );
      if (found === undefined) return undefined;
      return { ...found, known: (PART_TYPES[shown(found['role'])] ?? []).map((type) => `'${type}'`).join(', ') };
    },
  },
  {
    id: 'openai/content-null',
    checks: 'no content in a message other than an assistant with calls',
    words: "Invalid value for 'content': expected a string, got null.",
    param: 'messages.[{at}].content',
    source: 'run-llama/llama_index, pull request 17921',
    date: '2025-02-25',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ role, content, calls, fields }) =>
          (content === null || content === undefined) &&
          !(
            role === 'assistant' &&
            (calls.length > 0 || fields['audio'] !== undefined || read.isText(fields['refusal']))
          ),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'openai/content-empty',
    checks: 'an empty list of parts',
    words:
      "Invalid 'messages[{at}].content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    code: 'empty_array',
    param: 'messages[{at}].content',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(({ content }) => Array.isArray(content) && content.length === 0);
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'openai/calls-empty',
    checks: 'an empty list of calls',
    words:
      "Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    code: 'empty_array',
    param: 'messages[{at}].tool_calls',
    source: 'home-assistant/core, pull request 118577; openai/openai-python, issue 2061',
    date: '2025-01-28',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ fields }) => read.list(fields['tool_calls']).length === 0 && 'tool_calls' in fields,
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'openai/result-without-call',
    checks: 'a result that answers no call of the turn right before it',
    words: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    param: 'messages.[{at}].role',
    source: 'miurla/morphic, issue 136; crewAIInc/crewAI, pull request 1620',
    date: '2024-05-11',
    find: (request) => strayResult(messagesOf(request)),
  },
  {
    id: 'openai/call-without-result',
    checks: 'a call that has no result right behind it',
    words:
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
    param: 'messages.[{next}].role',
    source: 'microsoft/promptflow, pull request 3130; microsoft/vscode, issue 299295',
    date: '2026-03',
    find: (request) => unansweredCalls(messagesOf(request)),
  },
  {
    id: 'openai/result-twice',
    checks: 'a second result for a call',
    words: "Duplicate value for 'tool_call_id' of '{id}' in message[{at}]",
    param: 'messages.[{at}].tool_call_id',
    source: `${REFERENCE}, messages.tool_call_id`,
    date: '2026-11',
    find: (request) => repeatedResult(messagesOf(request)),
  },
  {
    id: 'openai/call-id-length',
    checks: 'an id of a call of more than 40 characters',
    words:
      "Invalid 'messages[{at}].tool_calls[{call}].id': string too long. Expected a string with maximum length 40, but got a string with length {length} instead.",
    code: 'string_above_max_length',
    param: 'messages[{at}].tool_calls[{call}].id',
    source: 'camel-ai/camel, issue 2215; anomalyco/opencode, issue 12653',
    date: '2026-02-08',
    find(request) {
      for (const { at, calls } of messagesOf(request)) {
        const call = calls.findIndex(({ id }) => id.length > LONGEST_ID);
        if (call >= 0) return { at, call, length: calls[call]?.id.length ?? 0 };
      }
      return undefined;
    },
  },
  {
    id: 'openai/file-name-missing',
    checks: 'a file by its data without a name',
    words: "Missing required parameter: 'messages[{at}].content[{part}].file.file_id'.",
    code: 'missing_required_parameter',
    param: 'messages[{at}].content[{part}].file.file_id',
    source: 'openai/openai-agents-python, issue 1513; laravel/ai, issue 321',
    date: '2025-08',
    find: (request) =>
      partOf(messagesOf(request), ({ type, file }) => {
        const { file_id: id, file_data: data, filename } = read.object(file);
        return type === 'file' && !read.isText(id) && !(read.isText(data) && read.isText(filename));
      }),
  },
  {
    id: 'openai/file-data',
    checks: 'file data that is no data URL',
    words:
      "Invalid 'messages[{at}].content[{part}].file.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,aGVsbG8='), but got a value without the 'data:' prefix.",
    code: 'invalid_value',
    param: 'messages[{at}].content[{part}].file.file_data',
    source: 'OpenAI, guide "File inputs", base64-encoded files',
    date: '2026-11',
    find: (request) =>
      partOf(messagesOf(request), ({ type, file }) => {
        const data = read.text(read.object(file)['file_data']);
        return type === 'file' && data !== undefined && !data.startsWith('data:');
      }),
  },
  {
    id: 'openai/image-type',
    checks: 'a picture whose data URL is of another type than PNG, JPEG, GIF and WebP',
    words:
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    code: 'invalid_image_format',
    source: 'OpenAI, guide "Images and vision", image input requirements',
    date: '2026-11',
    find: (request) =>
      partOf(messagesOf(request), ({ type, image_url: image }) => {
        const url = read.string(read.object(image)['url']) ?? '';
        return type === 'image_url' && url.startsWith('data:') && !IMAGES.test(url);
      }),
  },
  {
    id: 'openai/audio-format',
    checks: 'audio in another format than WAV and MP3',
    words: "Invalid value: '{format}'. Supported values are: 'wav' and 'mp3'.",
    code: 'invalid_value',
    param: 'messages[{at}].content[{part}].input_audio.format',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      for (const { at, parts } of messagesOf(request)) {
        for (const [part, { type, input_audio: audio }] of parts.entries()) {
          const format = shown(read.object(audio)['format']);
          if (type === 'input_audio' && format !== 'wav' && format !== 'mp3') return { at, part, format };
        }
      }
      return undefined;
    },
  },
  {
    id: 'openai/message-name',
    checks: 'a name of a message with spaces or one of < | \\ / >',
    words:
      "Invalid 'messages[{at}].name': string does not match pattern. Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'.",
    code: 'invalid_value',
    param: 'messages[{at}].name',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ fields: { name } }) => name !== undefined && (isJsonObject(name) || !MESSAGE_NAME.test(shown(name))),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'openai/json-word',
    checks: 'the response format json_object where no message says JSON',
    words: "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    param: 'messages',
    source: `${REFERENCE}, response_format; OpenAI, guide "Structured model outputs", JSON mode`,
    date: '2026-11',
    find: (request) =>
      formatTypeOf(request) === 'json_object' && !/json/i.test(textOf(messagesOf(request))) ? {} : undefined,
  },
  {
    id: 'openai/too-long',
    checks: 'more than the context window holds',
    words:
      "This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens. Please reduce the length of the messages.",
    code: 'context_length_exceeded',
    param: 'messages',
    source: 'OpenAI, guide "Error codes"',
    date: '2026-11',
    find(request) {
      const tokens = tokensOf(request);
      return tokens > request.contextTokens ? { most: request.contextTokens, tokens } : undefined;
    },
  },
];
