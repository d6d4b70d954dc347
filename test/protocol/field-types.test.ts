import { describe, expect, it } from 'vitest';
import { chatRequestSchema } from '../../src/protocol/chat-request.ts';
import { parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { fullBody, setAt, valueAt } from '../support/chat-bodies.ts';
import { FIELD_KINDS, SAMPLES, refusedKinds } from '../support/chat-field-types.ts';
import { membersOf } from '../support/schema-values.ts';

const FIELDS = Object.entries(FIELD_KINDS);

describe('a body that uses every field', () => {
  it('is accepted', () => {
    expect(parseChatRequest(fullBody())).toMatchObject({ ok: true });
  });

  it('covers every field of the schema', () => {
    const known = membersOf(chatRequestSchema);
    expect(
      known.filter((name) => !(name in FIELD_KINDS)),
      'fields that FIELD_KINDS in test/support/chat-field-types.ts lacks',
    ).toEqual([]);
    expect(
      known.filter((name) => !(name in fullBody())),
      'fields that fullBody() in test/support/chat-bodies.ts lacks',
    ).toEqual([]);
  });
});

describe.each(FIELDS)('%s (%s)', (path, kinds) => {
  it.each(refusedKinds(kinds))('refuses %s and says what would be right', (kind) => {
    const body = setAt(fullBody(), path, SAMPLES[kind]);
    const parsed = parseChatRequest(body);
    if (parsed.ok) throw new Error(`${path} took ${kind}`);
    const { status, errorType, message } = parsed.fault;
    expect(status).toBe(400);
    expect(errorType).toMatch(/^invalid_(?:request|prompt)$/);
    expect(parsed.fault.path).toBe(path.replace('.50256', '["50256"]'));
    expect(message).toMatch(/ must be .+, not .+\.$/);
    expect(message.startsWith(parsed.fault.path)).toBe(true);
  });
});

describe('null', () => {
  const nullable = FIELDS.filter(([, kinds]) => kinds.endsWith('?')).map(([path]) => path);

  it.each(nullable)('means "not set" in %s', (path) => {
    const parsed = parseChatRequest(setAt(fullBody(), path, null));
    const problem = parsed.ok ? '' : parsed.fault.message;
    // Taking a field away may leave others without what they need; that is said of those.
    expect(problem.startsWith(path)).toBe(false);
    if (parsed.ok) expect(valueAt(parsed.value, path) ?? null).toBeNull();
  });
});

describe('a field that must be there', () => {
  const required: Readonly<Record<string, string>> = {
    messages: 'an array',
    'messages[0].role': 'one of "system", "developer", "user", "assistant", "tool"',
    'messages[0].content': 'a string or an array',
    'messages[1].content[0].type': '"text"',
    'messages[1].content[0].text': 'a string',
    'messages[1].content[0].cache_control.type': '"ephemeral"',
    'messages[1].content[0].prompt_cache_breakpoint.mode': '"explicit"',
    'messages[1].configuration_update.reasoning': 'an object',
    'messages[2].content': 'a string or an array',
    'messages[2].content[1].image_url': 'an object',
    'messages[2].content[1].image_url.url': 'a string',
    'messages[2].content[2].input_audio.data': 'a string',
    'messages[2].content[2].input_audio.format': 'a string',
    'messages[2].content[3].video_url': 'an object',
    'messages[2].content[5].file': 'an object',
    'messages[3].content[1].refusal': 'a string',
    'messages[3].reasoning_details[0].type': 'a string',
    'messages[3].tool_calls[0].id': 'a string',
    'messages[3].tool_calls[0].type': '"function"',
    'messages[3].tool_calls[0].function': 'an object',
    'messages[3].tool_calls[0].function.name': 'a string',
    'messages[3].tool_calls[0].function.arguments': 'a string',
    'messages[3].images[0].image_url': 'an object',
    'messages[4].tool_call_id': 'a string',
    'audio.format': 'a string',
    'tools[0].type': '"function" or a server tool such as "router:web_search"',
    'tools[0].function': 'an object',
    'tools[0].function.name': 'a string',
    'tool_choice.type': '"function" or a server tool such as "router:web_search"',
    'tool_choice.function': 'an object with a name',
    'response_format.type': 'one of "text", "json_object", "json_schema", "grammar", "python"',
    'response_format.json_schema': 'an object',
    'response_format.json_schema.name': 'a string',
    'prediction.type': '"content"',
    'prediction.content': 'a string or an array',
    'cache_control.type': '"ephemeral"',
    'prompt_cache_options.mode': '"explicit"',
    'plugins[0].id': 'a string',
    'stop_server_tools_when[0].step_count': 'a number',
  };

  it.each(Object.entries(required))('is asked for at %s', (path, expected) => {
    expect(parseChatRequest(setAt(fullBody(), path, undefined))).toMatchObject({
      ok: false,
      fault: { status: 400, path, message: `${path} is required and must be ${expected}.` },
    });
  });
});
