/** What local servers refuse with the status 500, though the request is at fault. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouter, openaiCompatible, RouterError } from 'signalbox';
import { strictUpstream } from 'signalbox/testing';
import { afterEach, describe, expect, it } from 'vitest';

const MODEL = 'acme/one';
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that says the same to everything but requests that hold `fine`. */
async function saying(status: number, body: unknown) {
  let calls = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += String(part)));
    request.on('end', () => {
      calls += 1;
      const message = { role: 'assistant', content: 'Fine.' };
      const isFine = text.includes('fine');
      response.writeHead(isFine ? 200 : status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isFine ? { choices: [{ index: 0, message, finish_reason: 'stop' }] } : body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { baseURL, calls: () => calls };
}

function routerOf(addresses: readonly string[]) {
  const providers = addresses.map((baseURL, index) =>
    openaiCompatible({
      slug: `server-${index}`,
      baseURL,
      models: { [MODEL]: {}, 'acme/embed': { outputModalities: ['embeddings'] } },
    }),
  );
  const router = createRouter({ providers, on: { warning: () => {} } });
  closing.push(() => router.close());
  return router;
}

const serverError = (message: string) => ({ error: { code: 500, message, type: 'server_error' } });

describe('a 500 that is about the request', () => {
  it.each([
    [500, 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'],
    [500, 'audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj'],
    [500, 'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1'],
    [500, 'Failed to parse messages: unsupported content[].type; messages = []'],
    [500, 'tools param requires --jinja flag'],
    [500, 'tool_choice param requires --jinja flag'],
    [500, 'Cannot use custom grammar constraints with tools.'],
    [501, 'This server does not support embeddings. Start it with `--embeddings`'],
    [500, 'input (6001 tokens) is too large to process. increase the physical batch size (current batch size: 512)'],
  ])('%i %s: is a 400 after one call for each server, and no failure of it', async (status, words) => {
    const servers = [await saying(status, serverError(words)), await saying(status, serverError(words))];
    const router = routerOf(servers.map(({ baseURL }) => baseURL));
    const body = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] } as const;
    const asked = [];
    for (let request = 0; request < 6; request += 1) asked.push(router.chat(body).catch((error: unknown) => error));
    for (const error of await Promise.all(asked)) {
      expect(error).toBeInstanceOf(RouterError);
      const errorType = words.startsWith('input (') ? 'context_length_exceeded' : 'invalid_request';
      expect(error).toMatchObject({ status: 400, errorType });
    }
    expect(servers.map(({ calls }) => calls())).toEqual([6, 6]);
    const { steps } = await router.explain(body);
    expect(steps.map(({ decision, coolingDown }) => [decision?.health, coolingDown])).toEqual([
      [1, false],
      [1, false],
    ]);
    const fine = { model: MODEL, messages: [{ role: 'user', content: 'fine' }] } as const;
    expect((await router.chat(fine)).choices[0]?.message.content).toBe('Fine.');
  });

  it('is one that another server answers at once', async () => {
    const first = await saying(500, serverError('image input is not supported - hint: provide the mmproj'));
    await using second = await strictUpstream('vllm');
    const router = routerOf([first.baseURL, second.baseURL]);
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: PIXEL } },
    ] as const;
    const answer = await router.chat({
      model: MODEL,
      messages: [{ role: 'user', content }],
      provider: { order: ['server-0', 'server-1'] },
    });
    expect(answer.choices[0]?.message.content).toBe('Fine.');
    expect([first.calls(), second.accepted]).toEqual([1, 1]);
  });

  it('any other 500 is a failure of the server, and repeated', async () => {
    const server = await saying(500, serverError('ggml_cuda_compute_forward: image input is not supported by CUDA'));
    const router = routerOf([server.baseURL]);
    const error = await router.chat({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }).catch((one) => one);
    expect(error).toMatchObject({ status: 502 });
    expect(server.calls()).toBeGreaterThan(1);
  });
});

describe('llama.cpp', () => {
  it.each(['{broken', '[1]', 'null', '"text"', ' ', '{"a":1}}', '{"a":', 'not json'])(
    'takes arguments %s in the history once they are repaired',
    async (broken) => {
      await using upstream = await strictUpstream('llama.cpp');
      const router = routerOf([upstream.baseURL]);
      const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: broken } } as const;
      await router.chat({
        model: MODEL,
        messages: [
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: 'Nothing.' },
        ],
        tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }],
      });
      expect(upstream.refusals).toEqual([]);
      const sent = JSON.stringify(upstream.requests[0]);
      if (broken === '{broken') expect(sent).toContain('{broken');
    },
  );

  it('ignores dimensions: a 400 after one call', async () => {
    const data = [{ index: 0, embedding: [0.5, 0.25, 0.125] }];
    const server = await saying(200, { data, usage: { prompt_tokens: 1, total_tokens: 1 } });
    const router = routerOf([server.baseURL]);
    const error = await router.embed({ model: 'acme/embed', input: 'Hello', dimensions: 2 }).catch((one) => one);
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining('leave dimensions out') as string });
    expect(server.calls()).toBe(1);
  });
});
