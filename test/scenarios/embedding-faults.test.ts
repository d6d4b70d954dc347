import { type ErrorBody, type Router, createRouter, openaiCompatible } from 'signalbox';
import { FAULTS, type FaultId, startFaultUpstream } from 'signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { ALONE, BACKED, FAULTY_KEY } from '../support/fault-cell.ts';
import { checkError } from '../support/fault-checks.ts';
import { embeddingProvider, embeddingsBody, vectorOf } from '../support/embedding-upstream.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { type UpstreamHandler, sendJson, startUpstream } from '../support/upstream.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { turnClock } from '../support/turn-clock.ts';
import { type FaultRow, UPSTREAM_FAULT_TABLE } from './upstream-fault-table.ts';

vi.setConfig({ maxConcurrency: 16 });

/** Bodies that unpack to hundreds of megabytes: chats try them in each coding, and embeddings in one of them. */
const FURTHER_BOMBS = new Set<FaultId>(['U-55-brotli', 'U-55-double']);

/** Rows whose outcome does not depend on what a good answer would have looked like. */
const ROWS = UPSTREAM_FAULT_TABLE.flatMap((row) => {
  const { whole } = row.outcomes;
  if (!STORMS_ARE_FULL && FURTHER_BOMBS.has(row.fault)) return [];
  return whole === undefined || (whole.type !== 'falls back' && whole.type !== 'refused') ? [] : [{ row, whole }];
});

const PATIENT = { connectMs: 20_000, firstTokenMs: 20_000, answerMs: 20_000, totalMs: 60_000 };
const IMPATIENT = { connectMs: 600, firstTokenMs: 600, answerMs: 600, totalMs: 60_000 };
const LARGE_INPUT = 'x'.repeat(8_000_000);

interface Cell extends AsyncDisposable {
  readonly mounted: Mounted;
  readonly asked: () => number;
}

/** A router with a faulty provider, and a healthy one behind it for one of two models. */
async function startCell(baseURL: string, impatient = false): Promise<Cell> {
  const healthy = await startUpstream(embeddingProvider);
  const offer = { outputModalities: ['embeddings'] } as const;
  const router: Router = createRouter({
    providers: [
      openaiCompatible({
        slug: 'faulty',
        name: 'Faulty',
        apiKey: FAULTY_KEY,
        baseURL,
        models: { [ALONE]: offer, [BACKED]: offer },
      }),
      openaiCompatible({ slug: 'healthy', name: 'Healthy', baseURL: healthy.baseURL, models: { [BACKED]: offer } }),
    ],
    allowAnonymous: true,
    timeouts: impatient ? IMPATIENT : PATIENT,
    // On a busy machine the healthy provider would come too late as well.
    environment: turnClock(),
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
  });
  const mount = MOUNTS['node'];
  if (mount === undefined) throw new RangeError('there is a mount on plain Node');
  const mounted = await mount(router);
  return {
    mounted,
    asked: () => healthy.requests.length,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await healthy[Symbol.asyncDispose]();
    },
  };
}

function embed({ mounted }: Cell, model: string, input: unknown = ['One', 'Another']): Promise<Response> {
  return fetch(`${mounted.baseURL}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input, provider: { order: ['faulty', 'healthy'] } }),
  });
}

async function checkFallback(response: Response, inputs: readonly unknown[]): Promise<void> {
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    provider: 'Healthy',
    data: inputs.map((input, index) => ({ index, embedding: vectorOf(input) })),
  });
}

describe.concurrent.each(ROWS)(
  'embeddings, $row.fault',
  ({ row, whole }: { row: FaultRow; whole: (typeof ROWS)[number]['whole'] }) => {
    it(`${FAULTS[row.fault].does}: ${whole.type}`, async () => {
      await using upstream = await startFaultUpstream({ fault: row.fault, timeScale: 0.01 });
      await using cell = await startCell(upstream.baseURL, row.impatient);
      const inputs = row.fault === 'U-61' ? [LARGE_INPUT] : ['One', 'Another'];
      const { status, retryAfter = null } = {
        retryAfter: undefined,
        ...(whole as { status: number; retryAfter?: string }),
      };
      await checkError(await embed(cell, ALONE, inputs), status, retryAfter);
      const backed = await embed(cell, BACKED, inputs);
      if (whole.type === 'refused') {
        await checkError(backed, status, null);
        expect(cell.asked()).toBe(0);
      } else {
        await checkFallback(backed, inputs);
      }
    });
  },
);

type Answer = ReturnType<typeof embeddingsBody>;

/** Answers well, except for what is done to the answer first. */
function spoiled(spoil: (answer: Answer) => unknown): UpstreamHandler {
  return ({ body }, response) => sendJson(response, 200, spoil(embeddingsBody(body)));
}

function writing(text: (answer: Answer) => string): UpstreamHandler {
  return ({ body }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(text(embeddingsBody(body)));
  };
}

/** Answers with a good status that would be stored beside the wrong text, or not be found again. */
const WRONG_ANSWERS: Readonly<Record<string, UpstreamHandler>> = {
  'a vector too few': spoiled((answer) => ({ ...answer, data: answer.data.slice(1) })),
  'a vector too many': spoiled((answer) => ({ ...answer, data: [...answer.data, { ...answer.data[0], index: 2 }] })),
  'no vectors': spoiled((answer) => ({ ...answer, data: [] })),
  'no list': spoiled(({ data: _, ...answer }) => answer),
  'an index twice': spoiled((answer) => ({ ...answer, data: answer.data.map((one) => ({ ...one, index: 0 })) })),
  'an index that is not there': spoiled((answer) => ({
    ...answer,
    data: answer.data.map((one) => ({ ...one, index: one.index + 1 })),
  })),
  'an item without its vector': spoiled((answer) => ({ ...answer, data: answer.data.map(({ index }) => ({ index })) })),
  'vectors of different lengths': spoiled((answer) => ({
    ...answer,
    data: answer.data.map((one, index) => ({ ...one, embedding: vectorOf('x', index + 1) })),
  })),
  'empty vectors': spoiled((answer) => ({ ...answer, data: answer.data.map((one) => ({ ...one, embedding: [] })) })),
  'null among the numbers': spoiled((answer) => ({
    ...answer,
    data: answer.data.map((one) => ({ ...one, embedding: [0.5, null] })),
  })),
  'NaN, as some servers write it': writing((answer) =>
    JSON.stringify(answer).replace(/"embedding":\[[^,]+/, '"embedding":[NaN'),
  ),
  'a number beyond all floats': writing((answer) =>
    JSON.stringify(answer).replace(/"embedding":\[[^,]+/, '"embedding":[1e999'),
  ),
  'NaN in base64': spoiled((answer) => ({
    ...answer,
    data: answer.data.map((one) => ({ ...one, embedding: 'AADAfwAAwH8=' })),
  })),
  'broken base64': spoiled((answer) => ({
    ...answer,
    data: answer.data.map((one) => ({ ...one, embedding: 'AADAf*AAwH8=' })),
  })),
  'a chat completion': spoiled(() => ({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' } }] })),
};

describe.concurrent.each(Object.entries(WRONG_ANSWERS))('an answer with %s', (_name, handler) => {
  it('never ends as a success, and another provider takes over', async () => {
    await using upstream = await startUpstream(handler);
    await using cell = await startCell(upstream.baseURL);
    const alone = await embed(cell, ALONE);
    expect(alone.status).toBe(502);
    expect(((await alone.json()) as ErrorBody).error.metadata).toMatchObject({ error_type: 'provider_unavailable' });
    await checkFallback(await embed(cell, BACKED), ['One', 'Another']);
  });
});

describe('an answer out of order', () => {
  it('is put into the order of its indexes', async () => {
    await using upstream = await startUpstream(spoiled((answer) => ({ ...answer, data: answer.data.toReversed() })));
    await using cell = await startCell(upstream.baseURL);
    const response = await embed(cell, ALONE);
    expect(await response.json()).toMatchObject({
      provider: 'Faulty',
      data: ['One', 'Another'].map((text, index) => ({ index, embedding: vectorOf(text) })),
    });
  });
});
