import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkEnvelope, DONE_FRAME, commentFrame, dataFrame } from '../../../src/core/stream/envelope.ts';
import { escapeText } from '../../../src/core/stream/pieces.ts';
import type { RouterMetadata } from '../../../src/protocol/metadata.ts';
import { runs } from '../../support/properties.ts';

const FACTS = { id: 'gen-1', created: 1_700_000_000, model: 'acme/one', provider: 'Acme' };
const HEAD = { ...FACTS, object: 'chat.completion.chunk' };
const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const METADATA: RouterMetadata = {
  requested: 'acme/one',
  strategy: 'direct',
  region: null,
  summary: 'available=1, selected=Acme',
  attempt: 1,
  is_byok: false,
  endpoints: { total: 1, available: [{ provider: 'Acme', model: 'acme/one', selected: true }] },
};

const envelope = new ChunkEnvelope(FACTS);

describe('a chunk', () => {
  it('of plain text is the same by the short way and by the long way', () => {
    const anything = fc.string({ unit: 'binary', maxLength: 30 });
    fc.assert(
      fc.property(anything, anything, fc.option(anything, { nil: undefined }), (text, model, systemFingerprint) => {
        const own = new ChunkEnvelope({ ...FACTS, model, systemFingerprint });
        const escaped = escapeText(text);
        expect(own.textFrame(escaped)).toBe(dataFrame(JSON.stringify(own.text(escaped))));
        expect(own.text(escaped).choices[0]?.delta.content).toBe(text);
      }),
      runs(1_000),
    );
  });

  it('never has a system_fingerprint of null', () => {
    expect(envelope.delta(0, { content: 'a' })).not.toHaveProperty('system_fingerprint');
    expect(new ChunkEnvelope({ ...FACTS, systemFingerprint: 'fp_1' }).finish(0, 'stop', null)).toMatchObject({
      system_fingerprint: 'fp_1',
    });
  });

  it('that adds to a choice has no finish yet', () => {
    expect(envelope.delta(2, { reasoning: 'Hm' })).toEqual({
      ...HEAD,
      choices: [
        { index: 2, delta: { reasoning: 'Hm' }, finish_reason: null, native_finish_reason: null, logprobs: null },
      ],
    });
  });

  it('that ends a choice keeps the word of the provider', () => {
    expect(envelope.finish(1, 'length', 'MAX_TOKENS')).toEqual({
      ...HEAD,
      choices: [
        {
          index: 1,
          delta: { content: '' },
          finish_reason: 'length',
          native_finish_reason: 'MAX_TOKENS',
          logprobs: null,
        },
      ],
    });
  });

  it('of usage has no choices, and metadata only where it was asked for', () => {
    expect(envelope.usage(USAGE, 'flex', undefined)).toEqual({
      ...HEAD,
      choices: [],
      service_tier: 'flex',
      usage: USAGE,
    });
    expect(envelope.usage(USAGE, null, METADATA)).toMatchObject({ service_tier: null, router_metadata: METADATA });
  });

  it('of a failure ends the first choice with an error', () => {
    const error = { code: 502, message: 'Upstream error from Acme' };
    const chunk = envelope.error(error, undefined);
    expect(chunk).toEqual({ ...envelope.finish(0, 'error', null), error });
    expect(chunk).not.toHaveProperty('router_metadata');
    expect(envelope.error(error, METADATA).router_metadata).toBe(METADATA);
  });

  it('for debugging shows a body and nothing else', () => {
    expect(envelope.debug({ model: 'one' })).toEqual({
      ...HEAD,
      choices: [],
      debug: { echo_upstream_body: { model: 'one' } },
    });
  });
});

describe('a frame', () => {
  it('is one event or one comment', () => {
    expect(dataFrame('{}')).toBe('data: {}\n\n');
    expect(commentFrame('ROUTER PROCESSING')).toBe(': ROUTER PROCESSING\n\n');
    expect(DONE_FRAME).toBe('data: [DONE]\n\n');
  });
});
