import { type EmbeddingRequest, type Router, RouterError, createRouter, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { instantRouter } from '../../support/simulated.ts';

const MODEL = 'simulated/embedding';

async function vectors(input: EmbeddingRequest['input'], options = {}, more = {}): Promise<(readonly number[])[]> {
  const { data } = await instantRouter(options).embed({ model: MODEL, input, ...more });
  return data.map(({ embedding }) => embedding);
}

function dot(left: readonly number[] = [], right: readonly number[] = []): number {
  return left.reduce((sum, number, index) => sum + number * (right[index] ?? 0), 0);
}

describe('simulated embeddings', () => {
  it('are priced and counted, and need no key', async () => {
    const result = await instantRouter().embed({ model: MODEL, input: ['One', 'Two'], provider: { sort: 'price' } });
    expect(result).toMatchObject({ object: 'list', model: MODEL, data: [{ index: 0 }, { index: 1 }] });
    expect(result.usage).toMatchObject({ prompt_tokens: 2, total_tokens: 2, cost: 4e-8 });
    expect(result.usage).not.toHaveProperty('completion_tokens');
  });

  it('are vectors of length 1, the same for the same seed and text', async () => {
    const [first, second] = await vectors(['The signal is red', 'The signal is red']);
    expect(first).toHaveLength(256);
    expect(dot(first, first)).toBeCloseTo(1, 6);
    expect(second).toEqual(first);
    expect((await vectors('The signal is red'))[0]).toEqual(first);
    expect((await vectors('The signal is red', { seed: 2 }))[0]).not.toEqual(first);
  });

  it('bring texts that share words closer together than others', async () => {
    const [question, answer, cousin, stranger] = await vectors([
      'When does the night train to Vienna leave?',
      'The night train to Vienna leaves at ten.',
      'Night trains towards Vienna',
      'Boil the potatoes until they are soft',
    ]);
    expect(dot(question, answer)).toBeGreaterThan(0.5);
    expect(dot(question, cousin)).toBeGreaterThan(0.2);
    expect(dot(question, stranger)).toBeLessThan(0.2);
    const [one, other] = await vectors([
      [1, 2, 3],
      [1, 2, 4],
    ]);
    expect(dot(one, other)).toBeGreaterThan(0.4);
  });

  it('have the length that was asked for', async () => {
    for (const dimensions of [1, 2, 1_000, 4_096]) {
      const [vector] = await vectors(['a', '!?'], {}, { dimensions });
      expect(vector).toHaveLength(dimensions);
      expect(dot(vector, vector)).toBeCloseTo(1, 5);
    }
  });

  it('are refused where real servers refuse them', async () => {
    await expect(vectors('x', {}, { dimensions: 4_097 })).rejects.toMatchObject({ status: 400 });
    const words = 'word '.repeat(10_000);
    await expect(vectors(words)).rejects.toMatchObject({ status: 400, errorType: 'context_length_exceeded' });
    const many = Array.from({ length: 100 }, () => 'word '.repeat(6_000));
    await expect(vectors(many)).rejects.toMatchObject({ status: 400, errorType: 'context_length_exceeded' });
    const picture = [{ content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] }] as const;
    await expect(vectors(picture)).rejects.toMatchObject({ status: 404 });
  });

  it('fail when they are told to, and take their time', async () => {
    const environment = fakeEnvironment();
    const flaky = simulated({
      slug: 'flaky',
      environment,
      failures: ['hang', 'ok', { breakAfterTokens: 3 }],
      firstTokenMs: 100,
    });
    const router: Router = createRouter({
      providers: [flaky],
      environment,
      timeouts: { answerMs: 1_000 },
      fallback: { triesPerEndpoint: 1 },
    });
    const hung = router.embed({ model: MODEL, input: 'x' }).catch((error: unknown) => error);
    // Both endpoints of the model are tried: the first hangs, the second answers.
    await environment.advance(5_000);
    expect(await hung).toMatchObject({ object: 'list' });
    const broken = router
      .embed({ model: MODEL, input: 'x', provider: { only: ['flaky/eu'] } })
      .catch((error: unknown) => error);
    await environment.advance(5_000);
    const error = await broken;
    expect(RouterError.isInstance(error) && error.status).toBe(502);
    expect(environment.pendingTimers).toBe(0);
  });
});
