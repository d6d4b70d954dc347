import { describe, expect, it } from 'vitest';
import { promptBlocks } from '../../src/core/selection/adaptive/prompt-blocks.ts';
import type { NormalizedRequest } from '../../src/contracts/request.ts';
import type { Endpoint } from '../../src/catalog/endpoint.ts';
import type { Message } from '../../src/protocol/message.ts';
import { KnownPrompts } from '../../src/runtime/chat/known-prompts.ts';
import { fakeEnvironment } from '../../src/entries/testing.ts';

const endpoints = ['a', 'b'].map((id) => ({ id, tag: id, price: { prompt: 1, completion: 2 } }) as unknown as Endpoint);
const [a = endpoints[0] as Endpoint, b = endpoints[1] as Endpoint] = endpoints;

function asked(messages: readonly Message[], account = 'one', at = endpoints): NormalizedRequest {
  return {
    messages,
    account: { id: account },
    tools: [],
    needs: { promptTokens: 1_000 },
    targets: [{ endpoints: at }],
  } as unknown as NormalizedRequest;
}

const said = (content: string, role: 'user' | 'system' | 'assistant' = 'user'): Message => ({ role, content });
const long = (name: string, length: number): string => `${name} says: ${'something else again. '.repeat(length)}`;

describe('known prompts', () => {
  it('are where they were sent, and not elsewhere', () => {
    const environment = fakeEnvironment();
    const known = new KnownPrompts(environment);
    const request = asked([said(long('x', 400))]);
    expect(known.find(request)).toBeUndefined();
    known.note(request, a);
    const found = known.find(asked([said(long('x', 400))]));
    expect(found).toHaveLength(1);
    expect(found?.[0]).toMatchObject({ endpoint: 'a' });
    expect(found?.[0]?.share).toBeGreaterThan(0.85);
    expect(known.find(asked([said(long('y', 400))]))).toBeUndefined();
    expect(known.find(asked([said(long('x', 400))], 'two'))).toBeUndefined();
  });

  it('are found as far as they go on alike: documents, and all of an earlier turn', () => {
    const environment = fakeEnvironment();
    const known = new KnownPrompts(environment);
    const document = said(long('document', 1_000), 'system');
    known.note(asked([document, said('What is the first question?')]), a);
    known.note(asked([said(long('x', 200)), said('yes', 'assistant'), said('one more')]), b);
    const [shared] = known.find(asked([document, said(long('another question', 200))])) ?? [];
    expect(shared?.endpoint).toBe('a');
    expect(shared?.share).toBeGreaterThan(0.7);
    expect(shared?.share).toBeLessThan(0.87);
    const turns = [
      said(long('x', 200)),
      said('yes', 'assistant'),
      said('one more'),
      said('no', 'assistant'),
      said('?'),
    ];
    expect(known.find(asked(turns))?.[0]?.share).toBeGreaterThan(0.99);
  });

  it('are likely there for five minutes, and may be for half an hour', async () => {
    const environment = fakeEnvironment();
    const known = new KnownPrompts(environment);
    const request = asked([said(long('x', 400))]);
    known.note(request, a);
    await environment.advance(400_000);
    expect(known.find(request)?.[0]).toMatchObject({ share: 0 });
    expect(known.find(request)?.[0]?.before).toBeGreaterThan(0.85);
    await environment.advance(1_500_000);
    expect(known.find(request)).toBeUndefined();
  });

  it('are there for as long as answers show where what is cached costs as much', async () => {
    const environment = fakeEnvironment();
    const known = new KnownPrompts(environment);
    const own = ['c', 'd'].map((id) => ({ id, tag: id, price: undefined }) as unknown as Endpoint);
    const [c = a] = own;
    const request = asked([said(long('x', 400))], 'one', own);
    known.note(request, c);
    await environment.advance(400_000);
    expect(known.find(request)?.[0]?.share).toBeGreaterThan(0.85);
    for (let answer = 0; answer < 40; answer += 1) known.answered(c, 2_000, 0);
    expect(known.find(request)).toBeUndefined();
    for (let answer = 0; answer < 1_500; answer += 1) known.answered(c, 2_000, 1_900);
    expect(known.find(request)?.[0]?.share).toBeGreaterThan(0.85);
    // What is too short to be of use, and what others discount, shows nothing.
    for (let answer = 0; answer < 40; answer += 1) known.answered(c, 500, 0);
    expect(known.find(request)).toBeDefined();
  });

  it('are shared by all accounts at endpoints without a price', () => {
    const environment = fakeEnvironment();
    const known = new KnownPrompts(environment);
    const own = ['c', 'd'].map((id) => ({ id, tag: id, price: undefined }) as unknown as Endpoint);
    const request = asked([said(long('x', 400))], 'one', own);
    known.note(request, own[0] ?? a);
    expect(known.find(asked([said(long('x', 400))], 'two', own))).toHaveLength(1);
  });

  it('take 20 MB for a hundred thousand prompts, and no more for ten times as many', () => {
    const environment = fakeEnvironment();
    const known = new KnownPrompts(environment);
    const before = process.memoryUsage().arrayBuffers;
    const rest = 'what all of them have in common, and much of it. '.repeat(120);
    for (let index = 0; index < 100_000; index += 1) known.note(asked([said(`${index} ${rest}`)]), a);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20e6);
    let found = 0;
    for (let index = 0; index < 100_000; index += 97) found += known.find(asked([said(`${index} ${rest}`)])) ? 1 : 0;
    expect(found / Math.ceil(100_000 / 97)).toBeGreaterThan(0.85);
  });

  it('differ where texts differ at the beginning of a block', () => {
    const block = (name: number): string =>
      `${name}. ${'the same filling text in all blocks, '.repeat(60)}`.slice(0, 2_048);
    const first = promptBlocks([said([1, 2, 3, 4].map(block).join(''))], 0);
    const second = promptBlocks([said([1, 2, 5, 4].map(block).join(''))], 0);
    const alike = first?.hashes.filter((hash, index) => hash === second?.hashes[index]).length ?? 0;
    expect(alike).toBe(4);
    expect(first?.hashes).toHaveLength(8);
  });
});
