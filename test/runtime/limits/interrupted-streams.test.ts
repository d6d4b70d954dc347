import { createServer, type ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Provider, anthropic, createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { listen } from '../../support/mounts.ts';

/** Three and fifteen dollars per million tokens: 400 words cost at least 0.006 dollars. */
const PRICE = { prompt: 3, completion: 15 };
const MODELS = { 'acme/one': { price: PRICE } };
const WORDS = 400;
/** A word is about a token, and must not be taken for half of one. */
const LEAST_USD = (WORDS * PRICE.completion * 0.9) / 1e6;

type Write = (event: object) => void;

interface Wire {
  readonly provider: (baseURL: string) => Provider;
  /** What is reported before the first word: a placeholder, as vendors send it. */
  readonly begin: (write: Write) => void;
  readonly word: (write: Write) => void;
  /** What is reported after the last word. */
  readonly end: (write: Write) => void;
}

const chunk = (delta: object, usage?: object, finish: string | null = null): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...(usage === undefined ? {} : { usage }),
});

const compatible = (baseURL: string): Provider =>
  openaiCompatible({ slug: 'up', baseURL, apiKey: 'none', models: MODELS });

const WIRES: Readonly<Record<string, Wire>> = {
  'Messages, with one token reported at the start': {
    provider: (baseURL) => anthropic({ slug: 'up', baseURL, apiKey: 'none', models: MODELS }),
    begin(write) {
      const usage = { input_tokens: 12, output_tokens: 1 };
      write({ type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], usage } });
      write({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    },
    word: (write) =>
      write({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'wonderful ' } }),
    end(write) {
      write({ type: 'content_block_stop', index: 0 });
      write({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } });
    },
  },
  'chat completions, with a report of nothing at the start': {
    provider: compatible,
    begin: (write) =>
      write(chunk({ role: 'assistant', content: '' }, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })),
    word: (write) => write(chunk({ content: 'wonderful ' })),
    end: (write) =>
      write(chunk({}, { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19, cost: 0.0002 }, 'stop')),
  },
  'chat completions, with a cost at the start': {
    provider: compatible,
    begin: (write) =>
      write(
        chunk({ role: 'assistant' }, { prompt_tokens: 12, completion_tokens: 1, total_tokens: 13, cost: 0.000051 }),
      ),
    word: (write) => write(chunk({ content: 'wonderful ' })),
    end: (write) =>
      write(chunk({}, { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19, cost: 0.0002 }, 'stop')),
  },
  'chat completions without a report': {
    provider: compatible,
    begin: (write) => write(chunk({ role: 'assistant', content: '' })),
    word: (write) => write(chunk({ content: 'wonderful ' })),
    end: (write) =>
      write(chunk({}, { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19, cost: 0.0002 }, 'stop')),
  },
};

/** What becomes of the stream after its last word. */
type After = 'silence' | 'break' | 'end';

/** A router over real sockets, and what its calls were charged with. */
async function scene(wire: Wire, after: After) {
  const upstream = await listen(
    createServer((request, response: ServerResponse) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const write: Write = (event) => {
          const type = (event as { type?: string }).type;
          response.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`);
        };
        wire.begin(write);
        for (let word = 0; word < WORDS; word += 1) wire.word(write);
        if (after === 'break') setTimeout(() => response.destroy(), 50);
        if (after === 'end') wire.end(write);
      });
    }),
  );
  const costs: number[] = [];
  const router = createRouter({
    providers: [wire.provider(upstream.baseURL)],
    fallback: { maxAttempts: 1 },
    budgets: { default: { limitUsd: 0.02 } },
    on: { warning: () => {}, attempt: ({ costNanoUsd = 0 }) => costs.push(costNanoUsd / 1e9) },
  });
  const mount = await listen(createServer(nodeRouter(router)));
  return {
    costs,
    /** Reads a stream until all words are there; gives the status, and leaves unless it ends by itself. */
    async ask(): Promise<number> {
      const abort = new AbortController();
      const answer = await fetch(`${mount.baseURL}/chat/completions`, {
        method: 'POST',
        signal: abort.signal,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'acme/one',
          stream: true,
          max_tokens: 450,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      });
      let [text, words] = ['', 0];
      const decoder = new TextDecoder();
      try {
        for await (const bytes of answer.body ?? []) {
          text += decoder.decode(bytes, { stream: true });
          words = text.split('wonderful').length - 1;
          if (words === WORDS && after !== 'break') abort.abort();
        }
      } catch {
        // It was left.
      }
      const before = costs.length;
      if (answer.status === 200) await expect.poll(() => costs.length).toBeGreaterThanOrEqual(Math.max(1, before));
      return answer.status;
    },
    async [Symbol.asyncDispose]() {
      await router.close();
      await mount[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

describe.each(Object.entries(WIRES))('a stream of %s', (_, wire) => {
  it('that its client leaves is charged for what was generated', async () => {
    await using own = await scene(wire, 'silence');
    expect(await own.ask()).toBe(200);
    expect(own.costs[0]).toBeGreaterThan(LEAST_USD);
    expect(own.costs[0]).toBeLessThan(3 * LEAST_USD);
  });

  it('that its provider breaks is charged for what was generated', async () => {
    await using own = await scene(wire, 'break');
    expect(await own.ask()).toBe(200);
    expect(own.costs[0]).toBeGreaterThan(LEAST_USD);
    expect(own.costs[0]).toBeLessThan(3 * LEAST_USD);
  });

  it('cannot be used to spend more than a budget', async () => {
    await using own = await scene(wire, 'silence');
    const statuses = [await own.ask(), await own.ask(), await own.ask(), await own.ask()];
    expect(statuses).toContain(402);
    expect(own.costs.reduce((sum, cost) => sum + cost, 0)).toBeLessThanOrEqual(0.02);
  });
});
