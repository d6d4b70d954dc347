import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { eventsOfMessage } from '../../../src/providers/anthropic/events-of-message.ts';
import { decodeEvents, messageEvent, messageResult } from '../../support/anthropic.ts';
import { ResultCollector } from '../../../src/core/stream/collect.ts';

const MESSAGE: JsonObject = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'text', text: 'Fine.', citations: [{ type: 'page_location', cited_text: 'x' }] },
    { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
    { type: 'container_upload', file_id: 'f' },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 5 },
};

describe('the events that a message would have been', () => {
  it('begin empty, bring each block, and end with the reason and the counts', () => {
    const events = eventsOfMessage(MESSAGE);
    expect(events[0]).toMatchObject({ type: 'message_start', message: { content: [], stop_reason: null } });
    expect(events.at(-2)).toMatchObject({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use' },
      usage: MESSAGE['usage'],
    });
    expect(events.at(-1)).toEqual({ type: 'message_stop' });
    expect(events.filter(({ type }) => type === 'content_block_start')).toHaveLength(4);
    expect(events.flatMap(({ delta }) => (delta as { type?: string } | undefined)?.type ?? [])).toEqual([
      'thinking_delta',
      'signature_delta',
      'text_delta',
      'citations_delta',
      'input_json_delta',
    ]);
    // A block of a kind without deltas is whole from the start.
    expect(events).toContainEqual({
      type: 'content_block_start',
      index: 3,
      content_block: { type: 'container_upload', file_id: 'f' },
    });
  });

  it('say what the message says', async () => {
    const streamed = await decodeEvents(
      eventsOfMessage(MESSAGE).map((event) => messageEvent(event as { readonly type: string })),
    );
    const collector = new ResultCollector();
    for (const piece of streamed) collector.add(piece);
    const [one] = collector.result().choices;
    const [other] = messageResult(MESSAGE).choices;
    expect(one?.message.content).toBe(other?.message.content);
    expect(one?.message.tool_calls).toEqual(other?.message.tool_calls);
    expect(one?.finish_reason).toBe(other?.finish_reason);
  });

  it('are few for a message of nothing', () => {
    expect(eventsOfMessage({ content: [], stop_reason: 'end_turn' }).map(({ type }) => type)).toEqual([
      'message_start',
      'message_delta',
      'message_stop',
    ]);
  });
});
