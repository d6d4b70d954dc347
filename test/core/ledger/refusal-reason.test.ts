import { describe, expect, it } from 'vitest';
import { refusalReason } from '../../../src/core/ledger/refusal-reason.ts';

const reason = (status: number, message: string) => refusalReason({ status, message, plugins: [] });

describe('the reason of a refusal', () => {
  it('is the sentence that the caller got, where it is all the router’s own', () => {
    const budget = 'Insufficient credits: the budget of this account, $1 per day, has $0 left';
    expect(reason(402, budget)).toBe(budget);
    expect(reason(403, 'Not there, as "the law" says (rule no-mars)')).toBe(
      'Not there, as "the law" says (rule no-mars)',
    );
    expect(reason(400, 'messages[0].content must be a text or a list of parts, not a number.')).toBe(
      'messages[0].content must be a text or a list of parts, not a number.',
    );
  });

  it('leaves out what is quoted, which the caller sent, and keeps names that are suggested', () => {
    expect(reason(400, 'provider.sort must be price, latency or throughput, not "my secret \\" prompt".')).toBe(
      'provider.sort must be price, latency or throughput, not "…".',
    );
    expect(reason(429, 'Rate limit exceeded: requests of metadata.team "secret". At most 1')).toBe(
      'Rate limit exceeded: requests of metadata.team "…". At most 1',
    );
    expect(reason(404, 'The model "secret" is not known; did you mean "acme/one"?')).toBe(
      'The model "…" is not known; did you mean "acme/one"?',
    );
  });

  it('leaves out keys that the caller made up', () => {
    expect(reason(400, 'metadata.secret must be a text, not a number.')).toBe(
      'metadata.… must be a text, not a number.',
    );
    expect(reason(400, 'tools[0].function.parameters.properties.secret must be a schema.')).toBe(
      'tools.… must be a schema.',
    );
  });

  it('names the plugin that refused, and repeats nothing of what it said', () => {
    const plugins = [{ id: 'moderation', outcome: 'refused' }];
    expect(refusalReason({ status: 403, message: 'You said: secret', plugins })).toBe(
      'The plugin moderation refused it.',
    );
  });

  it('is absent for what is not a refusal', () => {
    expect(reason(499, 'gone')).toBeUndefined();
    expect(reason(500, 'secret')).toBeUndefined();
    expect(reason(503, 'secret')).toBeUndefined();
  });
});
