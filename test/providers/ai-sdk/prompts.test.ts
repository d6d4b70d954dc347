import { describe, expect, it } from 'vitest';
import { createOutbound } from '../../../src/net/outbound.ts';
import { guardedDownload } from '../../../src/providers/guarded-download.ts';
import { systemEnvironment } from '../../../src/platform/environment.ts';
import { callSchema } from '../../support/ai-sdk-call-schema.ts';
import { type AskingModel, type HandMade, askModel, callOf, handMade } from '../../support/ai-sdk-models.ts';
import { startUpstream } from '../../support/upstream.ts';

const VERSIONS = ['v2', 'v3', 'v4'] as const;
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
const PICTURE = 'https://example.com/map.png?size=2';
const PICTURED = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE } }] }];
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"map"}' } };

/** The prompt that a model gets for messages. */
async function promptOf(messages: readonly object[], made: HandMade = {}, asking: AskingModel = {}): Promise<unknown> {
  const call = await callOf(handMade(made), { messages }, asking);
  callSchema(made.version ?? 'v4').parse(call);
  return call.prompt;
}

function user(...content: readonly object[]): object {
  return { role: 'user', content };
}

describe('a prompt', () => {
  it('has the text of every role', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'Be' },
          { type: 'text', text: 'kind.' },
        ],
      },
      { role: 'user', content: 'Hi', name: 'Ada' },
      { role: 'assistant', content: 'Hello' },
      user({ type: 'text', text: '' }, { type: 'text', text: 'Where?' }),
    ];
    expect(await promptOf(messages)).toEqual([
      { role: 'system', content: 'Be brief.\n\nBe\n\nkind.' },
      { role: 'user', content: [{ type: 'text', text: 'Ada: Hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
      { role: 'user', content: [{ type: 'text', text: 'Where?' }] },
    ]);
  });

  it('says later instructions as the user where a model takes them only first', async () => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { role: 'system', content: 'Now in French.' },
    ];
    const first = ['anthropic.messages', 'google.generative-ai', 'amazon-bedrock', 'cohere.chat'];
    for (const provider of [...first, 'mistral.chat', 'deepseek.chat', 'own-server.chat']) {
      expect(await promptOf(messages, { provider })).toMatchObject([
        {},
        {},
        { role: 'user', content: [{ type: 'text', text: 'Now in French.' }] },
      ]);
    }
    for (const provider of ['openai.chat', 'xai.chat']) {
      expect(await promptOf(messages, { provider })).toMatchObject([
        {},
        {},
        { role: 'system', content: 'Now in French.' },
      ]);
    }
  });

  it('has files in the form of each version', async () => {
    const messages = [
      user(
        { type: 'image_url', image_url: { url: IMAGE } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain,Gr%C3%BC%C3%9Fe' } },
      ),
    ];
    const files = [
      { mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      { mediaType: 'audio/mpeg', data: 'AAAA' },
      { mediaType: 'application/pdf', data: 'JVBERi0=', filename: 'a.pdf' },
      { mediaType: 'text/plain', data: Buffer.from('Grüße').toString('base64'), filename: 'a.txt' },
    ];
    for (const version of VERSIONS) {
      const content = files.map(({ data, ...file }) => ({
        type: 'file',
        ...file,
        data: version === 'v4' ? { type: 'data', data } : data,
      }));
      expect(await promptOf(messages, { version, provider: 'google.generative-ai' })).toEqual([
        { role: 'user', content },
      ]);
    }
  });

  it('passes megabytes of base64 through, and writes as many bytes, without overflowing', async () => {
    const data = 'A'.repeat(2_000_000);
    const text = 'ü'.repeat(200_000);
    const content = [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
      { type: 'file', file: { file_data: `data:text/plain,${encodeURIComponent(text)}` } },
    ];
    expect(await promptOf([user(...content)])).toMatchObject([
      { content: [{ data: { data } }, { data: { data: Buffer.from(text).toString('base64') } }] },
    ]);
  });

  it('names an uploaded file by the key of its provider, in the only version that can', async () => {
    const messages = [user({ type: 'file', file: { file_id: 'file-7', filename: 'a.pdf' } })];
    expect(await promptOf(messages)).toMatchObject([
      { content: [{ data: { type: 'reference', reference: { anthropic: 'file-7' } }, mediaType: 'application/pdf' }] },
    ]);
    const { failure } = await askModel(handMade({ version: 'v3' }), { messages });
    expect(failure).toMatchObject({ kind: 'unsupported_parameter', message: expect.stringContaining('file_id') });
  });

  it('knows what an image is by how it begins, where nobody says it', async () => {
    const beginnings = [
      ['iVBORw0KGgo=', 'image/png'],
      ['/9j/4AAQ', 'image/jpeg'],
      ['R0lGODlh', 'image/gif'],
      ['UklGRg==', 'image/webp'],
      ['AAAA', 'image/jpeg'],
    ];
    for (const [data, mediaType] of beginnings) {
      const image = { type: 'image_url', image_url: { url: `data:;base64,${data}` } };
      expect(await promptOf([user(image)])).toMatchObject([{ content: [{ mediaType }] }]);
    }
  });

  it('keeps a refusal as text, and leaves out what says nothing', async () => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: null, refusal: 'Not this.' },
    ];
    expect(await promptOf(messages)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'No.' },
          { type: 'text', text: 'Not this.' },
        ],
      },
    ]);
  });
});

describe('an address in a prompt', () => {
  const messages = [user({ type: 'image_url', image_url: { url: PICTURE } })];

  it('stays one where the model fetches it', async () => {
    const lists: readonly unknown[] = [
      { 'image/*': [/^https:/] },
      { '*': [/^https:/g] },
      { 'image/png': [/^https:/] },
      Promise.resolve({ '*/*': [/^https:/] }),
    ];
    for (const supportedUrls of lists) {
      expect(await promptOf(messages, { supportedUrls })).toMatchObject([
        { content: [{ data: { type: 'url', url: new URL(PICTURE) }, mediaType: 'image/png' }] },
      ]);
      expect(await promptOf(messages, { supportedUrls, version: 'v3' })).toMatchObject([
        { content: [{ data: new URL(PICTURE), mediaType: 'image/png' }] },
      ]);
    }
  });

  it('stays one where the wire has addresses, whatever the list says', async () => {
    for (const provider of ['openai.chat', 'mistral.chat', 'own-server.chat']) {
      expect(await promptOf(messages, { provider })).toMatchObject([{ content: [{ data: { type: 'url' } }] }]);
    }
  });

  it('says only that it is an image where its ending says nothing more', async () => {
    const unnamed = [user({ type: 'image_url', image_url: { url: 'https://example.com/map' } })];
    const supportedUrls = { 'image/*': [/./] };
    expect(await promptOf(unnamed, { supportedUrls })).toMatchObject([{ content: [{ mediaType: 'image' }] }]);
    const earlier = await promptOf(unnamed, { supportedUrls, version: 'v2' });
    expect(earlier).toMatchObject([{ content: [{ mediaType: 'image/*' }] }]);
  });

  it('is fetched by whoever was given for it, once', async () => {
    const asked: string[] = [];
    const download = (url: URL): Promise<{ data: Uint8Array; mediaType: string }> => {
      asked.push(url.href);
      return Promise.resolve({ data: new Uint8Array([1, 2, 3]), mediaType: 'image/webp; q=1' });
    };
    const twice = [...messages, { role: 'assistant', content: 'Nice.' }, ...messages];
    const file = { data: { type: 'data', data: 'AQID' }, mediaType: 'image/webp' };
    expect(await promptOf(twice, {}, { download })).toMatchObject([{ content: [file] }, {}, { content: [file] }]);
    expect(asked).toEqual([PICTURE]);
  });

  it('is refused with its place where nobody fetches it, and the model is not called', async () => {
    const broken = [
      {},
      { supportedUrls: Promise.reject(new Error('no list')) },
      { supportedUrls: { 'application/pdf': [/./] } },
      { supportedUrls: null },
    ];
    for (const made of broken) {
      const model = handMade(made);
      const { failure } = await askModel(model, { messages }, { download: false });
      expect(failure).toMatchObject({ kind: 'unsupported_parameter' });
      expect(failure?.message).toContain('messages[0].content[0].image_url.url');
      expect(model.calls).toEqual([]);
    }
    const download = (): Promise<never> => Promise.reject(new Error('http://10.0.0.1 is not allowed'));
    const { failure } = await askModel(handMade(), { messages }, { download });
    expect(failure?.message).toMatch(/The URL could not be fetched; send a data URL instead$/);
    expect(failure?.message).not.toContain('10.0.0.1');
  });
});

describe('a file that the router fetches for a model', () => {
  it('is only asked for on the public internet', async () => {
    for (const url of ['http://127.0.0.1:80/a.png', 'http://169.254.169.254/latest', 'https://intranet.local/a.png']) {
      const model = handMade();
      const { failure } = await askModel(model, { messages: [user({ type: 'image_url', image_url: { url } })] });
      expect(failure?.message).toMatch(/^messages\[0\].*must lead to a host on the public internet/);
      expect(model.calls).toEqual([]);
    }
  });

  it('comes with its type, and must be whole', async () => {
    await using upstream = await startUpstream(({ path }, response) => {
      if (path.endsWith('/missing')) return void response.writeHead(404).end();
      if (path.endsWith('/moved')) return void response.writeHead(302, { location: '/v1/map' }).end();
      response.writeHead(200, { 'content-type': 'image/webp' });
      response.end(path.endsWith('/huge') ? Buffer.alloc(20_000_001) : Buffer.from('map'));
    });
    const { host } = new URL(upstream.baseURL);
    const guarded = guardedDownload(createOutbound({ allowedHosts: [host] }, systemEnvironment()));
    const asked = async (path: string): Promise<unknown> => {
      const messages = [user({ type: 'image_url', image_url: { url: `${upstream.baseURL}/${path}` } })];
      const model = handMade();
      const { failure } = await askModel(model, { messages }, { download: guarded.download });
      return failure?.message ?? model.calls[0]?.prompt;
    };
    const file = { mediaType: 'image/webp', data: { type: 'data', data: Buffer.from('map').toString('base64') } };
    expect(await asked('map')).toMatchObject([{ content: [file] }]);
    expect(await asked('moved')).toMatchObject([{ content: [file] }]);
    expect(await asked('missing')).toMatch(/The URL answered 404/);
    expect(await asked('huge')).toMatch(/more than 20 MB/);
    await guarded.close();
  });

  it('is given up with the call', async () => {
    const controller = new AbortController();
    const download = (_url: URL, signal: AbortSignal): Promise<never> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('gone')));
        controller.abort();
      });
    const model = handMade();
    const { failure } = await askModel(model, { messages: PICTURED }, { download, signal: controller.signal });
    expect([failure?.kind, model.calls]).toEqual(['aborted', []]);
  });
});

describe('tool calls in a prompt', () => {
  const history = (content: unknown, more: object = {}): object[] => [
    { role: 'user', content: 'Look' },
    { role: 'assistant', content: null, tool_calls: [CALL, { ...CALL, id: 'call_2' }] },
    { role: 'tool', tool_call_id: 'call_1', content, ...more },
    { role: 'tool', tool_call_id: 'call_2', content: '{"seen":true}' },
  ];

  it('are values, and results stand together with the name of their tool', async () => {
    expect(await promptOf(history('a hill'))).toMatchObject([
      {},
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'look', input: { at: 'map' } },
          { type: 'tool-call', toolCallId: 'call_2', toolName: 'look', input: { at: 'map' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { toolCallId: 'call_1', toolName: 'look', output: { type: 'text', value: 'a hill' } },
          { toolCallId: 'call_2', toolName: 'look', output: { type: 'text', value: '{"seen":true}' } },
        ],
      },
    ]);
  });

  it('pass objects as such to Google, unless a number would lose digits', async () => {
    const google = { provider: 'google.vertex.chat' };
    expect(await promptOf(history('{"id":12345678901234567890}'), google)).toMatchObject([
      {},
      {},
      {
        content: [
          { output: { type: 'text', value: '{"id":12345678901234567890}' } },
          { output: { type: 'json', value: { seen: true } } },
        ],
      },
    ]);
  });

  it('keep input that is no object as text inside of one', async () => {
    for (const text of ['{"at":', '[1,2]', '7', 'null']) {
      const call = { ...CALL, function: { name: 'look', arguments: text } };
      const messages = [
        { role: 'user', content: 'Look' },
        { role: 'assistant', tool_calls: [call] },
      ];
      expect(await promptOf(messages)).toMatchObject([{}, { content: [{ input: { arguments: text } }] }]);
    }
    const empty = { ...CALL, function: { name: 'look', arguments: '' } };
    expect(
      await promptOf([
        { role: 'user', content: 'Look' },
        { role: 'assistant', tool_calls: [empty] },
      ]),
    ).toMatchObject([{}, { content: [{ input: {} }] }]);
  });

  it('have images in results in the form of each version', async () => {
    const content = [
      { type: 'text', text: 'Here:' },
      { type: 'image_url', image_url: { url: IMAGE } },
    ];
    const images = {
      v2: { type: 'media', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
      v3: { type: 'image-data', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
      v4: { type: 'file', data: { type: 'data', data: 'iVBORw0KGgo=' }, mediaType: 'image/png' },
    };
    for (const version of VERSIONS) {
      expect(await promptOf(history(content), { version })).toMatchObject([
        {},
        {},
        { content: [{ output: { type: 'content', value: [{ type: 'text', text: 'Here:' }, images[version]] } }, {}] },
      ]);
    }
  });

  it('have addresses in results where a version can say them, and otherwise behind', async () => {
    const content = [{ type: 'image_url', image_url: { url: PICTURE } }];
    const supportedUrls = { 'image/*': [/./] };
    expect(await promptOf(history(content), { supportedUrls, version: 'v3' })).toMatchObject([
      {},
      {},
      { content: [{ output: { type: 'content', value: [{ type: 'image-url', url: PICTURE }] } }, {}] },
    ]);
    expect(await promptOf(history(content), { supportedUrls, version: 'v2' })).toMatchObject([
      {},
      {},
      { role: 'tool' },
      { role: 'user', content: [{ data: new URL(PICTURE) }] },
    ]);
  });

  it('have images behind the results where a model would get them as a string of JSON', async () => {
    const content = [{ type: 'image_url', image_url: { url: IMAGE } }];
    for (const provider of ['openai.chat', 'mistral.chat', 'own-server.chat']) {
      expect(await promptOf(history(content), { provider })).toMatchObject([
        {},
        {},
        { role: 'tool', content: [{ output: { type: 'text', value: expect.stringMatching(/follows/) } }, {}] },
        ...(provider === 'mistral.chat' ? [{ role: 'assistant' }] : []),
        { role: 'user', content: [{ type: 'file', mediaType: 'image/png' }] },
      ]);
    }
  });

  it('have ids that the model accepts, and results the ids of their calls', async () => {
    const call = { ...CALL, id: 'functions.look:0' };
    const messages = [
      { role: 'user', content: 'Look' },
      { role: 'assistant', tool_calls: [call, { ...call, id: 'functions.look.0' }] },
      { role: 'tool', tool_call_id: 'functions.look.0', content: 'second' },
      { role: 'tool', tool_call_id: 'functions.look:0', content: 'first' },
    ];
    expect(await promptOf(messages)).toMatchObject([
      {},
      { content: [{ toolCallId: 'functions_look_0' }, { toolCallId: 'functions_look_0_1' }] },
      {
        content: [
          { toolCallId: 'functions_look_0_1', output: { value: 'second' } },
          { toolCallId: 'functions_look_0', output: { value: 'first' } },
        ],
      },
    ]);
    const own = await promptOf(messages, { provider: 'own-server.chat' });
    expect(own).toMatchObject([{}, { content: [{ toolCallId: 'functions.look:0' }, {}] }, {}]);
  });

  it('have a name also when their call is not there', async () => {
    const orphan = { role: 'tool', tool_call_id: 'call_9', content: 'x' };
    expect(await promptOf([orphan])).toMatchObject([{}, { content: [{ toolName: 'unknown_tool' }] }]);
    expect(await promptOf([{ ...orphan, name: 'look' }])).toMatchObject([{}, { content: [{ toolName: 'look' }] }]);
  });
});

describe('cache marks in a prompt', () => {
  const marked = { type: 'text', text: 'Long text', cache_control: { type: 'ephemeral', ttl: '1h' } };

  it('stand on the very part for Anthropic', async () => {
    const cacheControl = { type: 'ephemeral', ttl: '1h' };
    const options = { providerOptions: { anthropic: { cacheControl } } };
    const messages = [
      { role: 'system', content: [{ type: 'text', text: 'First' }, marked] },
      user(marked, { type: 'text', text: 'Short' }),
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'call_1', content: [marked] },
    ];
    expect(await promptOf(messages)).toEqual([
      { role: 'system', content: 'First' },
      { role: 'system', content: 'Long text', ...options },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Long text', ...options },
          { type: 'text', text: 'Short' },
        ],
      },
      expect.objectContaining({ role: 'assistant' }),
      { role: 'tool', content: [expect.objectContaining(options)] },
    ]);
  });

  it('stand on the whole message for Bedrock', async () => {
    const options = { providerOptions: { bedrock: { cachePoint: { type: 'default', ttl: '1h' } } } };
    const messages = [user(marked), { role: 'tool', tool_call_id: 'call_1', content: [marked] }];
    const prompt = await promptOf(messages, { provider: 'amazon-bedrock' });
    expect(prompt).toMatchObject([options, options]);
    expect(JSON.stringify((prompt as { content: unknown }[]).map(({ content }) => content))).not.toContain('bedrock');
  });

  it('come from the other spelling, from the top of the request, and not where nobody reads them', async () => {
    const breakpoint = { type: 'text', text: 'Long text', prompt_cache_breakpoint: { mode: 'explicit' } };
    expect(await promptOf([user(breakpoint)])).toMatchObject([
      { content: [{ providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }] },
    ]);
    const moving = await callOf(handMade(), { cache_control: { type: 'ephemeral' } });
    expect(moving.prompt.at(-1)).toMatchObject({ providerOptions: { anthropic: { cacheControl: {} } } });
    const elsewhere = await promptOf([user(marked)], { provider: 'own-server.chat' });
    expect(elsewhere).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Long text' }] }]);
  });
});
