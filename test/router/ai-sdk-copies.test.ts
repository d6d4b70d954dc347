/** Runs in a process of its own: it counts the bytes that are allocated. */
import { Session } from 'node:inspector';
import { createRouter, simulated } from 'signalbox';
import { aiSdkProvider } from 'signalbox/ai-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { Provider, ProviderCall } from '../../src/contracts/provider.ts';
import type { Message } from '../../src/protocol/message.ts';

const SIZE = 5_000_000;
const IN_BASE64 = (SIZE * 4) / 3;

interface Allocated {
  readonly selfSize: number;
  readonly children: readonly Allocated[];
}

function sizeOf({ selfSize, children }: Allocated): number {
  return children.reduce((size, child) => size + sizeOf(child), selfSize);
}

/** Bytes that some work allocates, with those that were collected since; large ones are all among the samples. */
async function bytesOf(work: () => PromiseLike<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  const options = { samplingInterval: 32_768, includeObjectsCollectedByMajorGC: true };
  session.post('HeapProfiler.startSampling', { ...options, includeObjectsCollectedByMinorGC: true } as object);
  await work();
  let bytes = Number.NaN;
  session.post('HeapProfiler.stopSampling', (_error, { profile }) => void (bytes = sizeOf(profile.head)));
  session.disconnect();
  return bytes;
}

describe('content of the AI SDK on its way to the provider', () => {
  const seen: Message[] = [];
  const inner = simulated({
    models: { 'acme/one': { price: { prompt: 1, completion: 1 } } },
    firstTokenMs: 0,
    tokensPerSecond: 0,
  });
  /** Notes what it would encode, and answers something short. */
  const provider: Provider = {
    ...inner,
    chat({ request, ...call }: ProviderCall) {
      seen.push(...request.messages);
      return inner.chat({ ...call, request: { ...request, messages: [{ role: 'user', content: 'Hi' }] } });
    },
  };
  const router = createRouter({ providers: [provider] });
  const model = aiSdkProvider(router)('acme/one');
  const text = Buffer.alloc(SIZE, 'a').toString('latin1');
  const bytes = new Uint8Array(SIZE).fill(65);
  const file = (data: string | Uint8Array): LanguageModelV4FilePart => ({
    type: 'file',
    mediaType: 'image/png',
    data: { type: 'data', data },
  });

  const ask = async (part: LanguageModelV4FilePart | LanguageModelV4TextPart): Promise<void> => {
    seen.length = 0;
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'See' }, part] }];
    await model.doGenerate({ prompt });
    const { stream } = await model.doStream({ prompt });
    for await (const _ of stream);
    expect(seen).toHaveLength(2);
  };

  beforeAll(() => ask({ type: 'text', text: 'warm' }));
  afterAll(() => router.close());

  it.each([
    ['a text, not at all', { type: 'text' as const, text }, 0],
    ['base64, to put its type in front of it', file(text), SIZE],
    // Base64 itself is beside the heap of V8, as Node writes it.
    ['bytes, as base64 with their type in front of it', file(bytes), IN_BASE64],
  ])('is copied once at most: %s', async (_name, part, needed) => {
    await ask(part);
    const allocated = await bytesOf(() => ask(part));
    // Asked for twice, once streamed; what is allocated besides does not grow with the content.
    expect(allocated / 2).toBeGreaterThan(needed * 0.9);
    expect(allocated / 2).toBeLessThan(needed + 1_000_000);
    const given = seen.map(({ content }) => (Array.isArray(content) ? content[1] : content)) as object[];
    const lengths = given.map((one) =>
      'text' in one ? one.text : (one as { image_url: { url: string } }).image_url.url,
    );
    for (const content of lengths) expect(String(content).length).toBeGreaterThanOrEqual(SIZE);
  });
});
