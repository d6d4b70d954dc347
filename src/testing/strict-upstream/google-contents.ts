/** What Google refuses in the turns of `generateContent` and `streamGenerateContent`. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import { memberOutside } from './chat-body.ts';
import { isFrom3 } from './google-body.ts';
import { type Finding, type StrictRequest, type StrictRule, shown } from './rule.ts';

const REFERENCE = 'Google, API reference "Content" and "Part"';
const SIGNATURES = 'Google, page "Thought signatures"';

/** A turn of a conversation. */
interface Turn {
  readonly at: number;
  readonly role: string;
  readonly parts: readonly JsonObject[];
}

function turnsOf({ body }: StrictRequest): readonly Turn[] {
  return read
    .objects(body['contents'])
    .map(({ role, parts }, at) => ({ at, role: read.string(role) ?? '', parts: read.objects(parts) }));
}

/** Turns of one role behind each other count as one, as the API reads them. */
function mergedTurns(request: StrictRequest): readonly Turn[] {
  const merged: Turn[] = [];
  for (const turn of turnsOf(request)) {
    const last = merged.at(-1);
    if (last?.role === turn.role) merged.splice(-1, 1, { ...last, parts: [...last.parts, ...turn.parts] });
    else merged.push(turn);
  }
  return merged;
}

function count({ parts }: Turn, member: string): number {
  return parts.filter((part) => part[member] !== undefined).length;
}

function partWith(request: StrictRequest, fits: (part: JsonObject, turn: Turn) => boolean): Finding | undefined {
  for (const turn of turnsOf(request)) {
    const part = turn.parts.findIndex((one) => fits(one, turn));
    if (part >= 0) return { at: turn.at, part };
  }
  return undefined;
}

const DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];
const PART_MEMBERS = new Set([
  ...DATA,
  'thought',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'toolCall',
  'toolResponse',
]);
const NAME = /^[a-zA-Z_][\w.:-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Types of inline data that its models read. */
const MEDIA =
  /^(?:image\/(?:png|jpeg|webp|heic|heif|gif|bmp)|audio\/|video\/|application\/pdf$|text\/|application\/(?:json|rtf|x-javascript|x-python)$)/;

/** Rules of turns and parts. */
export const GOOGLE_CONTENT_RULES: readonly StrictRule[] = [
  {
    id: 'google/contents-empty',
    checks: 'a conversation without turns',
    words: '* GenerateContentRequest.contents: contents is not specified\n',
    source: REFERENCE,
    date: '2026-11',
    find: (request) => (turnsOf(request).length === 0 ? {} : undefined),
  },
  {
    id: 'google/role',
    checks: 'another role than user and model',
    words: 'Please use a valid role: user, model.',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = turnsOf(request).find(({ role }) => role !== 'user' && role !== 'model');
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'google/parts-empty',
    checks: 'a turn without parts',
    words: '* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const wrong = turnsOf(request).find(({ parts }) => parts.length === 0);
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'google/part-data',
    checks: 'a part without data, or with two kinds of it',
    words:
      "Unable to submit request because it must have a text parameter. Invalid value at 'contents[{at}].parts[{part}]': required oneof field 'data' must have one initialized field",
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      partWith(request, (part) => {
        const kinds = DATA.filter((kind) => part[kind] !== undefined);
        const blank = kinds[0] === 'text' && part['text'] === '' && !read.isText(part['thoughtSignature']);
        return kinds.length !== 1 || blank;
      }),
  },
  {
    id: 'google/part-member',
    checks: 'a member that a part does not have',
    words:
      'Invalid JSON payload received. Unknown name "{member}" at \'contents[{at}].parts[{part}]\': Cannot find field.',
    source: 'openswarm-ai/openswarm, issue 24 (the words)',
    date: '2026-05-06',
    find(request) {
      for (const { at, parts } of turnsOf(request)) {
        for (const [part, fields] of parts.entries()) {
          const member = memberOutside(fields, PART_MEMBERS);
          if (member !== undefined) return { at, part, member };
        }
      }
      return undefined;
    },
  },
  {
    id: 'google/call-turn',
    checks: 'a turn of calls that is not behind a turn of the user or of responses',
    words:
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    source: 'google-gemini/gemini-cli, issue 11814 and issue 26486',
    date: '2026-05-05',
    find(request) {
      const wrong = mergedTurns(request).find((turn, index) => count(turn, 'functionCall') > 0 && index === 0);
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'google/response-turn',
    checks: 'a turn of responses that is not behind a turn of calls',
    words: 'Please ensure that function response turn comes immediately after a function call turn.',
    source: 'langchain-ai/langchain, issue 27799; BerriAI/litellm, issue 26755',
    date: '2026-04',
    find(request) {
      const turns = mergedTurns(request);
      const wrong = turns.find((turn, index) => {
        const before = turns[index - 1];
        return count(turn, 'functionResponse') > 0 && (before === undefined || count(before, 'functionCall') === 0);
      });
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'google/response-count',
    checks: 'another number of responses than of calls',
    words:
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    source: 'google-gemini/gemini-cli, issue 17208 and issue 3814',
    date: '2026-01-21',
    find(request) {
      const turns = mergedTurns(request);
      const wrong = turns.find((turn, index) => {
        const calls = count(turn, 'functionCall');
        const next = turns[index + 1];
        if (calls === 0) return false;
        return next === undefined || count(next, 'functionResponse') !== calls;
      });
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'google/call-by-user',
    checks: 'a call or a thought in a turn of the user, or a response in a turn of the model',
    words: 'Please ensure that function call parts are in model turns and function response parts are in user turns.',
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      partWith(request, (part, { role }) =>
        role === 'user'
          ? part['functionCall'] !== undefined || part['thought'] === true
          : part['functionResponse'] !== undefined,
      ),
  },
  {
    id: 'google/signature-missing',
    checks: 'for Gemini 3 and later, a first call of a step of the current turn without its thought signature',
    words:
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
    source: `${SIGNATURES}; massgen/MassGen, issue 529; lbjlaq/Antigravity-Manager, issue 733`,
    date: '2026-01-16',
    find(request) {
      if (!isFrom3(request.model)) return undefined;
      const turns = turnsOf(request);
      // The current turn begins with the last thing that the user said, other than results.
      const start = turns.findLastIndex(
        (turn) => turn.role === 'user' && turn.parts.some((part) => part['functionResponse'] === undefined),
      );
      for (const { at, role, parts } of turns.slice(start + 1)) {
        const call = role === 'model' ? parts.find((part) => part['functionCall'] !== undefined) : undefined;
        if (call !== undefined && !read.isText(call['thoughtSignature'])) {
          return { name: shown(read.object(call['functionCall'])['name']), position: at + 1 };
        }
      }
      return undefined;
    },
  },
  {
    id: 'google/call-name',
    checks: 'a name of a call or a response that no function can have',
    words: '* GenerateContentRequest.contents[{at}].parts[{part}].function_response.name: Name cannot be empty.\n',
    source: 'google-gemini/gemini-cli, issue 6704 (names)',
    date: '2025-08-21',
    find: (request) =>
      partWith(request, ({ functionCall: call, functionResponse: response }) =>
        [call, response].some((one) => one !== undefined && !NAME.test(shown(read.object(one)['name']))),
      ),
  },
  {
    id: 'google/call-arguments',
    checks: 'arguments of a call, or a response, that are no object',
    words:
      "Invalid value at 'contents[{at}].parts[{part}]' (type.googleapis.com/google.protobuf.Struct), the value is no object",
    source: 'Google, API reference "FunctionCall" and "FunctionResponse"',
    date: '2026-11',
    find: (request) =>
      partWith(request, ({ functionCall: call, functionResponse: response }) => {
        const isStruct = (value: unknown): boolean =>
          typeof value === 'object' && value !== null && !Array.isArray(value);
        const { args = {} } = read.object(call);
        return (
          (call !== undefined && !isStruct(args)) ||
          (response !== undefined && !isStruct(read.object(response)['response']))
        );
      }),
  },
  {
    id: 'google/media-type',
    checks: 'inline data of a type that no model reads',
    words: 'Unsupported MIME type: {type}',
    source: 'Google, pages "Image understanding", "Audio understanding" and "Document processing"',
    date: '2026-11',
    find(request) {
      for (const { parts } of turnsOf(request)) {
        for (const { inlineData: data } of parts) {
          const type = read.string(read.object(data)['mimeType']) ?? '';
          if (data !== undefined && !MEDIA.test(type)) return { type };
        }
      }
      return undefined;
    },
  },
  {
    id: 'google/media-data',
    checks: 'inline data that is no base64',
    words:
      "Invalid value at 'contents[{at}].parts[{part}].inline_data.data' (TYPE_BYTES), Base64 decoding failed for the data",
    source: 'Google, API reference "Blob"',
    date: '2026-11',
    find: (request) =>
      partWith(request, ({ inlineData: data }) => data !== undefined && !BASE64.test(shown(read.object(data)['data']))),
  },
  {
    id: 'google/file-address',
    checks: 'a file by an address that is none of Google’s files, buckets and videos',
    words: 'Cannot fetch content from the provided URL.',
    source: 'Google, page "Files API"; API reference "FileData"',
    date: '2026-11',
    find: (request) =>
      partWith(
        request,
        ({ fileData: data }) => data !== undefined && !/^(?:https|gs):\/\//.test(shown(read.object(data)['fileUri'])),
      ),
  },
  {
    id: 'google/too-long',
    checks: 'more than the context window holds',
    words: 'The input token count ({tokens}) exceeds the maximum number of tokens allowed ({most}).',
    source: 'Google, page "Troubleshooting guide"',
    date: '2026-11',
    find({ length, contextTokens: most }) {
      const tokens = Math.ceil(length / 4);
      return tokens > most ? { tokens, most } : undefined;
    },
  },
];
