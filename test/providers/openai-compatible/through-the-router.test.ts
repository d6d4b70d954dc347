import { RouterError, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { OWN_KEY } from '../../support/wire.ts';
import { type UpstreamHandler, chunkEvent, dataEvent, sendJson, startUpstream } from '../../support/upstream.ts';

const DONE = 'data: [DONE]\n\n';
const REQUEST = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;

/** Asks a router whose only provider does this; gives the text, or the error. */
async function asked(handler: UpstreamHandler, stream: boolean): Promise<string | RouterError> {
  await using upstream = await startUpstream(handler);
  const provider = openaiCompatible({
    slug: 'up',
    baseURL: upstream.baseURL,
    apiKey: OWN_KEY,
    models: { 'acme/one': {} },
  });
  const router = createRouter({ providers: [provider] });
  let text = '';
  try {
    if (!stream) return (await router.chat(REQUEST)).choices[0]?.message.content ?? '';
    for await (const chunk of router.stream(REQUEST)) text += chunk.choices[0]?.delta.content ?? '';
    return text;
  } catch (error) {
    if (RouterError.isInstance(error)) return error;
    throw error;
  } finally {
    await router.close();
  }
}

const events =
  (...parts: readonly string[]): UpstreamHandler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(parts.join(''));
  };

describe.each([
  ['whole', false],
  ['streamed', true],
])('an answer that is asked for %s', (_form, stream) => {
  it('holds nothing that came behind the end mark', async () => {
    const said = chunkEvent({ content: 'Once' }) + chunkEvent({ content: ' only' }) + chunkEvent({}, 'stop') + DONE;
    expect(await asked(events(said, said, 'data: nonsense\n\n'), stream)).toBe('Once only');
  });

  it('holds every character of a body that came in pieces under the wrong type', async () => {
    const answer = JSON.stringify({ choices: [{ message: { content: 'Łódź 🚦 線路' }, finish_reason: 'stop' }] });
    const slowly: UpstreamHandler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const bytes = [...Buffer.from(`\n\n${answer}`)];
      const next = (): void => {
        const byte = bytes.shift();
        if (byte === undefined) response.end();
        else response.write(Uint8Array.of(byte), () => setImmediate(next));
      };
      next();
    };
    expect(await asked(slowly, stream)).toBe('Łódź 🚦 線路');
  });

  it.each<readonly [name: string, handler: UpstreamHandler]>([
    ['with a bad status', (_request, response) => sendJson(response, 500, leak())],
    ['with a status of a bad request', (_request, response) => sendJson(response, 400, leak())],
    ['about the key itself', (_request, response) => sendJson(response, 401, leak())],
    ['with a good status', (_request, response) => sendJson(response, 200, leak())],
    ['inside a stream', events(dataEvent(leak()), DONE)],
    ['inside a stream that had begun', events(chunkEvent({ content: 'Half' }), dataEvent(leak()))],
    [
      'in a web page',
      (_request, response) => {
        response.writeHead(502, { 'content-type': 'text/html' });
        response.end(`<html>${OWN_KEY}</html>`);
      },
    ],
  ])('never shows a key that a provider repeats %s', async (_name, handler) => {
    const error = await asked(handler, stream);
    if (typeof error === 'string') return expect.fail(`no error, but: ${error}`);
    const shown = JSON.stringify([error.toDetail(), error.message, error.stack, error.cause]);
    expect(shown).not.toMatch(/canary|own[+%\\]/i);
    expect(shown).not.toContain('<html');
  });
});

function leak(): object {
  const text = `Bad key ${OWN_KEY}, sent as "Bearer ${OWN_KEY}"`;
  return { error: { message: text, code: OWN_KEY, type: text, param: text }, message: text, user_id: OWN_KEY };
}
