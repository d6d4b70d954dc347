import { describe, expect, it } from 'vitest';
import { lostEnding } from '../../../src/runtime/streams/lost-ending.ts';

const ID = 'gen-1767225600-abc';
const eventsOf = (frames: string): readonly Readonly<Record<string, unknown>>[] =>
  [...frames.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => JSON.parse(json) as Record<string, unknown>);

describe('the last event of a stream whose instance is gone', () => {
  it('is a chunk of the same stream, and [DONE]', () => {
    const first = ': ROUTER PROCESSING\n\ndata: {"id":"gen-x","created":7,"model":"acme/one","provider":"Acme"}\n\n';
    const ending = lostEnding('chat', ID, first, '');
    expect(eventsOf(ending)).toMatchObject([
      { id: 'gen-x', created: 7, model: 'acme/one', provider: 'Acme', error: { code: 502 } },
    ]);
    expect(ending.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('has the id and the time of the request where nothing of the stream is there', () => {
    expect(eventsOf(lostEnding('chat', ID, '', ''))).toMatchObject([{ id: ID, created: 1_767_225_600 }]);
  });

  it('is an event "error" on /messages', () => {
    const ending = lostEnding('messages', ID, '', '');
    expect(ending.startsWith('event: error\n')).toBe(true);
    expect(eventsOf(ending)).toMatchObject([{ type: 'error', error: { message: expect.stringContaining('is gone') } }]);
  });

  it('has the next number on /responses', () => {
    const last = 'data: {"type":"a","sequence_number":7}\n\ndata: {"type":"b","sequence_number":8,"delta":"x"}\n\n';
    expect(eventsOf(lostEnding('responses', ID, '', last))).toMatchObject([{ type: 'error', sequence_number: 9 }]);
    expect(eventsOf(lostEnding('responses', ID, '', ''))).toMatchObject([{ sequence_number: 0 }]);
  });

  it('is none for a stream of the program, which has words of its own', () => {
    expect(lostEnding('text', ID, '', '')).toBe('');
  });
});
