import { type StreamPiece, createRouter, failure } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type FedCall, GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { type Answered, chatBody, send } from '../support/http-call.ts';

const HEAD = {
  id: 'gen-1767225600-c7l6o9ld2upr6k1ylj3r',
  provider: 'FED',
  model: 'acme/one',
  object: 'chat.completion.chunk',
  created: 1_767_225_600,
};
const OPEN_CHOICE = { index: 0, finish_reason: null, native_finish_reason: null, logprobs: null };

interface Streamed extends Answered {
  readonly frames: readonly string[];
  readonly chunks: readonly Record<string, unknown>[];
}

async function stream(
  script: (call: FedCall) => void,
  {
    fields = {},
    headers = {},
    slugs = ['fed'],
  }: { fields?: object; headers?: Record<string, string>; slugs?: string[] } = {},
): Promise<Streamed> {
  const providers = slugs.map((slug) => fedProvider({ slug, script }));
  const router = createRouter({ providers, environment: fakeEnvironment() });
  const answer = await send(router, { headers, body: chatBody({ stream: true, ...fields }) });
  const frames = answer.text.split('\n\n').slice(0, -1);
  const data = frames.filter((frame) => frame.startsWith('data: {')).map((frame) => frame.slice('data: '.length));
  return Object.assign(answer, { frames, chunks: data.map((one) => JSON.parse(one) as Record<string, unknown>) });
}

function saying(...pieces: readonly StreamPiece[]): (call: FedCall) => void {
  return (call) => {
    call.push(...pieces, ...GOOD_END);
    call.end();
  };
}

/** The id of a stream is made of chance that a test cannot know; everything else is compared to the letter. */
function withoutId(chunk: Record<string, unknown> | undefined): Record<string, unknown> {
  return { ...chunk, id: HEAD.id };
}

describe('a stream', () => {
  it('is laid out to the letter: role, contents, finish, usage, end mark', async () => {
    const { status, headers, chunks, frames } = await stream(saying('Hel', 'lo \\"you\\"'));
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-generation-id': chunks[0]?.['id'],
    });
    expect(chunks.map(withoutId)).toEqual([
      { ...HEAD, choices: [{ ...OPEN_CHOICE, delta: { role: 'assistant', content: '' } }] },
      { ...HEAD, choices: [{ ...OPEN_CHOICE, delta: { content: 'Hel' } }] },
      { ...HEAD, choices: [{ ...OPEN_CHOICE, delta: { content: 'lo "you"' } }] },
      {
        ...HEAD,
        choices: [{ ...OPEN_CHOICE, delta: { content: '' }, finish_reason: 'stop', native_finish_reason: 'end_turn' }],
      },
      {
        ...HEAD,
        choices: [],
        service_tier: null,
        usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10, is_byok: false },
      },
    ]);
    expect(frames.at(-1)).toBe('data: [DONE]');
    expect(frames.every((frame) => frame.startsWith('data: '))).toBe(true);
  });

  it('has one id, one time, one model and one provider from its first chunk to its last', async () => {
    const { chunks } = await stream(saying('a', 'b'));
    expect(chunks[0]?.['id']).toMatch(/^gen-1767225600-[a-zA-Z0-9]{20}$/);
    for (const name of ['id', 'created', 'model', 'provider', 'object']) {
      expect(new Set(chunks.map((chunk) => chunk[name])).size).toBe(1);
    }
  });

  it('says the role once, however often the provider does', async () => {
    const role: StreamPiece = { type: 'delta', index: 0, delta: { role: 'assistant', reasoning: 'Hm. ' } };
    const { text } = await stream(saying(role, role, 'a'));
    expect(text.split('"role"').length - 1).toBe(1);
  });

  it('finishes once and tells usage once, at the end, in whatever order the provider sent them', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const { chunks } = await stream(
      saying({ type: 'usage', usage }, 'a', { type: 'finish', index: 0, reason: 'stop', native: 'stop' }, 'b'),
    );
    const finishes = chunks.filter((chunk) => JSON.stringify(chunk).includes('"finish_reason":"stop"'));
    expect(finishes).toHaveLength(1);
    expect(chunks.filter((chunk) => 'usage' in chunk)).toHaveLength(1);
    expect(chunks.at(-2)).toBe(finishes[0]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 10 } });
  });

  it('never holds null where clients cannot take it', async () => {
    const { chunks } = await stream(saying('a'), { headers: { 'x-router-metadata': 'enabled' } });
    for (const chunk of chunks) {
      for (const name of ['system_fingerprint', 'usage', 'error', 'debug', 'router_metadata', 'provider']) {
        expect(chunk[name]).not.toBeNull();
      }
      for (const choice of chunk['choices'] as readonly { delta: object }[]) {
        expect(Object.values(choice.delta)).not.toContain(null);
      }
    }
  });

  it('shows the fingerprint and the tier that the provider told', async () => {
    const facts: StreamPiece = { type: 'facts', systemFingerprint: 'fp_1', serviceTier: 'flex' };
    const { chunks } = await stream(saying(facts, 'a'));
    expect(chunks.every((chunk) => chunk['system_fingerprint'] === 'fp_1')).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ service_tier: 'flex' });
  });

  it('has its metadata in the last chunk before the end mark and nowhere else', async () => {
    const { chunks } = await stream(saying('a'), { headers: { 'x-router-metadata': 'enabled' } });
    expect(chunks.filter((chunk) => 'router_metadata' in chunk)).toEqual([chunks.at(-1)]);
    expect(chunks.at(-1)).toMatchObject({
      router_metadata: {
        requested: 'acme/one',
        strategy: 'direct',
        region: null,
        summary: 'available=1, selected=FED',
        attempt: 1,
        is_byok: false,
        endpoints: { total: 1, available: [{ provider: 'FED', model: 'acme/one', selected: true }] },
        attempts: [{ provider: 'FED', model: 'acme/one', status: 200 }],
      },
    });
  });
});

describe('a stream that breaks', () => {
  const lost = failure('connection', 'The connection was lost');

  it('tells it in an error chunk that ends the choice, and ends as always', async () => {
    const { status, chunks, frames } = await stream((call) => {
      call.push('Once', { type: 'failure', failure: lost });
    });
    expect(status).toBe(200);
    expect(withoutId(chunks.at(-1))).toEqual({
      ...HEAD,
      choices: [{ ...OPEN_CHOICE, delta: { content: '' }, finish_reason: 'error' }],
      error: {
        code: 502,
        message: 'Upstream error from FED: The connection was lost',
        metadata: { error_type: 'provider_unavailable', provider_name: 'FED', is_byok: false },
      },
    });
    expect(frames.at(-1)).toBe('data: [DONE]');
  });

  it('shows the metadata in the error chunk when it was asked for', async () => {
    const { chunks } = await stream((call) => call.push('Once', { type: 'failure', failure: lost }), {
      headers: { 'x-router-metadata': 'enabled' },
    });
    expect(chunks.at(-1)).toMatchObject({
      router_metadata: { attempt: 1, attempts: [{ provider: 'FED', status: 502 }] },
    });
  });

  it('before its first content is an ordinary error with a true status', async () => {
    const { status, headers, error } = await stream((call) => {
      call.push(
        { type: 'delta', index: 0, delta: { role: 'assistant', content: '' } },
        { type: 'failure', failure: failure('unreachable', 'Nobody is there') },
      );
    });
    expect(status).toBe(502);
    expect(headers['content-type']).toBe('application/json');
    expect(error).toMatchObject({ code: 502, metadata: { error_type: 'provider_unavailable' } });
  });

  it('that just stops is cut off, never finished', async () => {
    const { chunks } = await stream((call) => {
      call.push('Once');
      call.end();
    });
    expect(chunks.at(-1)).toMatchObject({ error: { code: 502 }, choices: [{ finish_reason: 'error' }] });
  });
});

describe('a stream that shows what is sent', () => {
  const fields = { debug: { echo_upstream_body: true } };

  it('begins with one debug chunk per attempt, without choices', async () => {
    const { chunks } = await stream(
      (call) => {
        if (call.call.endpoint.provider === 'first') call.fail(failure('server', 'no', { status: 500 }));
        else saying('a')(call);
      },
      { fields: { ...fields, provider: { order: ['first', 'second'] } }, slugs: ['first', 'second'] },
    );
    expect(chunks.map((chunk) => chunk['debug'])).toEqual([
      { echo_upstream_body: { model: 'acme/one', slug: 'first' } },
      { echo_upstream_body: { model: 'acme/one', slug: 'second' } },
      ...Array.from({ length: 4 }, () => undefined),
    ]);
    expect(chunks[0]).toMatchObject({ choices: [], provider: 'FIRST', model: 'acme/one' });
    expect(chunks[1]).toMatchObject({ choices: [], provider: 'SECOND' });
    expect(chunks[2]).toMatchObject({ provider: 'SECOND', choices: [{ delta: { role: 'assistant' } }] });
  });

  it('only does so when it streams', async () => {
    const router = createRouter({ providers: [fedProvider({ script: (call) => call.answer('a') })] });
    const { json } = await send(router, { body: chatBody({ ...fields, stream: false }) });
    expect(JSON.stringify(json)).not.toContain('debug');
  });
});
