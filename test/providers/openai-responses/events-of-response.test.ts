import { describe, expect, it } from 'vitest';
import { eventsOfResponse } from '../../../src/providers/openai-responses/events-of-response.ts';

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [
    { type: 'output_text', text: 'Fine.', annotations: [{ type: 'url_citation', url: 'https://a.example' }] },
    { type: 'refusal', refusal: 'No.' },
  ],
};
const CALL = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'a',
  name: 'look',
  arguments: '{"a":1}',
  status: 'completed',
};
const CUSTOM = { id: 'ct_1', type: 'custom_tool_call', call_id: 'b', name: 'patch', input: '*** Begin' };
const REASONING = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] };
const SHELL = { id: 'sh_1', type: 'local_shell_call', call_id: 'c', action: { type: 'exec' }, status: 'completed' };

const RESPONSE = {
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [REASONING, MESSAGE, CALL, CUSTOM, SHELL],
};

describe('the events that a response would have been', () => {
  it('are counted, and end with the response itself', () => {
    const events = eventsOfResponse(RESPONSE);
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, index) => index));
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
    expect(events[0]).toMatchObject({ response: { status: 'in_progress', output: [] } });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: RESPONSE });
  });

  it('bring texts, arguments and inputs in deltas, and each item whole', () => {
    const events = eventsOfResponse(RESPONSE);
    expect(events.flatMap(({ delta }) => (typeof delta === 'string' ? [delta] : []))).toEqual([
      'hm',
      'Fine.',
      'No.',
      '{"a":1}',
      '*** Begin',
    ]);
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    expect(done.map(({ item }) => item)).toEqual(RESPONSE.output);
    expect(events.filter(({ type }) => type === 'response.output_text.annotation.added')).toHaveLength(1);
  });

  it('begin items of other kinds as they are', () => {
    const added = eventsOfResponse(RESPONSE).filter(({ type }) => type === 'response.output_item.added');
    expect(added.map(({ item }) => item)).toMatchObject([
      { summary: [] },
      { status: 'in_progress', content: [] },
      { arguments: '' },
      { input: '' },
      SHELL,
    ]);
  });

  it('say when its limit has ended it', () => {
    expect(eventsOfResponse({ ...RESPONSE, status: 'incomplete', output: [] }).at(-1)).toMatchObject({
      type: 'response.incomplete',
    });
  });
});
