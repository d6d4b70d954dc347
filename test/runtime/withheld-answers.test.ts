import { createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { RouterError } from '../../src/protocol/router-error.ts';
import {
  type UpstreamHandler,
  answerWith,
  chunkEvent,
  dataEvent,
  sendJson,
  startUpstream,
} from '../support/upstream.ts';

/** Keeps its whole answer back, or says something first. */
function filtered(content: string | null): UpstreamHandler {
  return ({ body }, response) => {
    if (body['stream'] !== true) {
      const message = { role: 'assistant', content };
      sendJson(response, 200, { choices: [{ index: 0, message, finish_reason: 'content_filter' }] });
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (content !== null) response.write(chunkEvent({ content }));
    response.end(`${chunkEvent({}, 'content_filter')}data: [DONE]\n\n`);
  };
}

async function ask(handler: UpstreamHandler, models: readonly 'acme/two'[], stream = false) {
  await using one = await startUpstream(handler);
  await using two = await startUpstream(answerWith('From the second'));
  const router = createRouter({
    providers: [
      openaiCompatible({ slug: 'one', baseURL: one.baseURL, models: { 'acme/one': {} } }),
      openaiCompatible({ slug: 'two', baseURL: two.baseURL, models: { 'acme/two': {} } }),
    ],
    on: { warning: () => {} },
  });
  const request = { model: 'acme/one', models, messages: [{ role: 'user', content: 'Hi' }] } as const;
  const said: (string | null | undefined)[] = [];
  const finishes: (string | null)[] = [];
  if (stream) {
    for await (const { choices } of router.stream(request)) {
      said.push(choices[0]?.delta.content);
      if (choices[0] !== undefined) finishes.push(choices[0].finish_reason);
    }
  } else {
    const { choices } = await router.chat(request);
    said.push(choices[0]?.message.content);
    finishes.push(choices[0]?.finish_reason ?? null);
  }
  await router.close();
  return { text: said.join(''), finish: finishes.at(-1) };
}

describe.each([false, true])('an answer that a content filter kept back (stream: %s)', (stream) => {
  it('is left to the next model', async () => {
    expect(await ask(filtered(null), ['acme/two'], stream)).toEqual({ text: 'From the second', finish: 'stop' });
    expect(await ask(filtered(''), ['acme/two'], stream)).toEqual({ text: 'From the second', finish: 'stop' });
  });

  it('is the answer when no other model is left', async () => {
    expect(await ask(filtered(null), [], stream)).toEqual({ text: '', finish: 'content_filter' });
  });

  it('is the answer when something was said', async () => {
    const expected = { text: 'I cannot', finish: 'content_filter' };
    expect(await ask(filtered('I cannot'), ['acme/two'], stream)).toEqual(expected);
  });
});

describe('a stream that a provider ends in an error', () => {
  async function breakOff(code: number) {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunkEvent({ content: 'Hello' }));
      response.end(dataEvent({ error: { code, message: 'shard 7 of cluster x fell over', type: 'inner_oops' } }));
    });
    const router = createRouter({
      providers: [
        openaiCompatible({ slug: 'acme', name: 'Acme', baseURL: upstream.baseURL, models: { 'acme/one': {} } }),
      ],
      on: { warning: () => {} },
    });
    const request = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;
    try {
      for await (const _ of router.stream(request)) continue;
    } catch (error) {
      if (RouterError.isInstance(error)) return JSON.stringify([error.message, error.metadata]);
      throw error;
    } finally {
      await router.close();
    }
    throw new Error('must break off');
  }

  it.each([500, 502, 503])('is told of in our words, with %i', async (code) => {
    const told = await breakOff(code);
    expect(told).toContain('Upstream error from Acme');
    expect(told).not.toMatch(/shard|inner_oops/);
  });

  it('is told of in its words when it is about the request', async () => {
    expect(await breakOff(400)).toContain('Upstream error from Acme: shard 7');
  });
});

describe('what a provider found out about tool calls', () => {
  it('stands in the answer as it came', async () => {
    const found = { alignment: { calls: [] }, safeguard_results: [{ type: 'dangerous_tool_use' }] };
    await using upstream = await startUpstream((_request, response) => {
      const message = { role: 'assistant', content: 'Hello' };
      sendJson(response, 200, { ...found, choices: [{ index: 0, message, finish_reason: 'stop' }] });
    });
    const router = createRouter({
      providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models: { 'acme/one': {} } })],
      on: { warning: () => {} },
    });
    const result = await router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    expect(result).toMatchObject(found);
    await router.close();
  });
});
