import OpenAI, { APIError } from 'openai';
import {
  type FileParserOptions,
  type FileStore,
  type ModelTable,
  createRouter,
  fileParser,
  localPdfReader,
  mistralOcr,
  openaiCompatible,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { createPdfRunner } from '../../src/plugins/services/pdf/runner-inline.ts';
import { MOUNTS } from '../support/mounts.ts';
import { dataUrlOf, encryptedPdf, pdfOfPages, pdfWith } from '../support/pdf.ts';
import { type Upstream, answerWith, sendJson, startUpstream } from '../support/upstream.ts';
import { type WebSite, leadsTo, says, startSite } from '../support/web-site.ts';

const REPORT = pdfWith(['Sales rose by 12 percent', 'Costs fell'], { title: 'Annual report' });
const MODELS: ModelTable = {
  'acme/text': { inputModalities: ['text'], price: { prompt: 1, completion: 2 } },
  'acme/eyes': { inputModalities: ['text', 'image'], price: { prompt: 1, completion: 2 } },
  'acme/reader': { inputModalities: ['text', 'file'], price: { prompt: 1, completion: 2 } },
  'acme/unknown': {},
};

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
  readonly ocr: Upstream;
  readonly site: WebSite;
  /** Parts of the first message as the last provider got them. */
  parts(): readonly Record<string, unknown>[];
}

interface SceneOptions extends Omit<FileParserOptions, 'ocr'> {
  readonly withOcr?: boolean;
  readonly threads?: boolean;
}

async function open({ withOcr = false, threads = false, ...options }: SceneOptions = {}): Promise<Scene> {
  const upstream = await startUpstream(answerWith('Fine.'));
  const ocr = await startUpstream((_request, response) =>
    sendJson(response, 200, {
      pages: [
        { index: 0, markdown: '# Scanned', images: [{ id: 'a.jpeg', image_base64: 'data:image/jpeg;base64,AAAA' }] },
        { index: 1, markdown: 'Second page', images: [] },
      ],
      model: 'mistral-ocr-2505',
      usage_info: { pages_processed: 2, doc_size_bytes: 1000 },
    }),
  );
  const site = await startSite({
    '/report.pdf': says('application/pdf', REPORT),
    '/moved': leadsTo('/report.pdf'),
    '/big.pdf': says('application/pdf', Buffer.alloc(3_000_000, '%PDF-')),
  });
  // The parts are compared one by one, so the server takes them as such.
  const lists = { system: true, user: true, assistant: true, tool: true };
  const dialect = { conversation: { lists } };
  const provider = openaiCompatible({
    slug: 'up',
    name: 'Up',
    baseURL: upstream.baseURL,
    models: MODELS,
    quirks: dialect,
  });
  const plugin = fileParser({
    // Threads have their own test, and one here; they take half a second each.
    reader: localPdfReader(threads ? {} : { run: createPdfRunner() }),
    ...(withOcr ? { ocr: mistralOcr({ apiKey: 'ocr-key', baseURL: ocr.baseURL, pricePerPage: 0.01 }) } : {}),
    ...options,
  });
  const router = createRouter({
    providers: [provider],
    plugins: [plugin],
    allowAnonymous: true,
    net: { allowPrivate: [site.host] },
    fallback: { maxAttempts: 1 },
    on: { warning: () => {} },
  });
  const mount = Object.values(MOUNTS)[0];
  if (mount === undefined) throw new Error('no mount');
  const mounted = await mount(router);
  return {
    client: new OpenAI({
      baseURL: mounted.baseURL,
      apiKey: 'any',
      maxRetries: 0,
      defaultHeaders: { 'X-Router-Metadata': 'enabled' },
    }),
    upstream,
    ocr,
    site,
    parts: () => {
      const sent = upstream.requests.at(-1)?.body as { messages: { content: Record<string, unknown>[] }[] } | undefined;
      return sent?.messages[0]?.content ?? [];
    },
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      for (const one of [upstream, ocr, site]) await one[Symbol.asyncDispose]();
    },
  };
}

type Messages = OpenAI.ChatCompletionMessageParam[];

function about(file: object, question = 'What is in it?'): Messages {
  return [
    {
      role: 'user',
      content: [
        { type: 'text', text: question },
        { type: 'file', file },
      ],
    },
  ];
}

const ATTACHED = { filename: 'report.pdf', file_data: dataUrlOf(REPORT) };
const QUOTED = {
  type: 'text',
  text: '<file name="report.pdf">\nSales rose by 12 percent\n\nCosts fell\n</file>',
};

interface More {
  readonly annotations?: readonly unknown[];
  readonly router_metadata?: { readonly pipeline?: readonly Record<string, unknown>[] };
}

function annotationsOf({ choices }: OpenAI.ChatCompletion): unknown {
  return (choices[0]?.message as More | undefined)?.annotations;
}

describe('a PDF for a model that reads only text', () => {
  it('becomes text that is quoted, and comes back as an annotation', async () => {
    await using scene = await open({ threads: true });
    const messages = about(ATTACHED);
    const answer = await scene.client.chat.completions.create({ model: 'acme/text', messages });
    expect(scene.parts()).toEqual([{ type: 'text', text: 'What is in it?' }, QUOTED]);
    expect(annotationsOf(answer)).toEqual([
      {
        type: 'file',
        file: {
          hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          name: 'report.pdf',
          content: [{ type: 'text', text: 'Sales rose by 12 percent\n\nCosts fell' }],
        },
      },
    ]);
    expect((answer as More).router_metadata?.pipeline).toEqual([
      {
        type: 'plugin',
        name: 'file-parser',
        summary: 'files=1, pages=2, engine=cloudflare-ai',
        data: { files: 1, pages: 2, reused: 0, engines: ['cloudflare-ai'] },
      },
    ]);
  });

  it('is not read again when its annotation is sent back', async () => {
    let read = 0;
    await using scene = await open({
      reader: { read: () => Promise.resolve({ pages: [`Reading ${(read += 1)}`], totalPages: 1 }) },
    });
    const messages = about(ATTACHED);
    const first = await scene.client.chat.completions.create({ model: 'acme/text', messages });
    const message = first.choices[0]?.message;
    if (message === undefined) throw new Error('no message');
    const next = [...messages, message, { role: 'user' as const, content: 'And now?' }];
    const second = await scene.client.chat.completions.create({ model: 'acme/text', messages: next });
    expect(read).toBe(1);
    expect(scene.parts()[1]).toEqual({ type: 'text', text: '<file name="report.pdf">\nReading 1\n</file>' });
    expect(annotationsOf(second)).toBeUndefined();
    expect((second as More).router_metadata?.pipeline).toMatchObject([
      { summary: 'files=1, pages=0', data: { reused: 1, engines: [] } },
    ]);
    // The annotation was ours; no provider gets it.
    expect(JSON.stringify(scene.upstream.requests.at(-1)?.body)).not.toContain('annotations');
  });

  it('has its annotation in the last chunks of a stream', async () => {
    await using scene = await open();
    const stream = await scene.client.chat.completions.create({
      model: 'acme/text',
      messages: about(ATTACHED),
      stream: true,
    });
    const annotations: unknown[] = [];
    let text = '';
    let pipeline: unknown;
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta as (More & { content?: string }) | undefined;
      text += delta?.content ?? '';
      annotations.push(...(delta?.annotations ?? []));
      pipeline = (chunk as More).router_metadata?.pipeline ?? pipeline;
    }
    expect([text, annotations.length]).toEqual(['Fine.', 1]);
    expect(pipeline).toMatchObject([{ name: 'file-parser' }]);
  });

  it('leaves what was read in the error when the provider fails', async () => {
    await using scene = await open();
    scene.upstream.handler = (_request, response) => sendJson(response, 500, { error: { message: 'no' } });
    const error: unknown = await scene.client.chat.completions
      .create({ model: 'acme/text', messages: about(ATTACHED) })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof APIError)) throw new Error('no error');
    expect(error.status).toBe(502);
    const { metadata } = error.error as { metadata: { file_annotations: unknown[] } };
    expect(metadata.file_annotations).toMatchObject([{ type: 'file', file: { name: 'report.pdf' } }]);
  });

  it('is fetched from its address, through redirects too', async () => {
    await using scene = await open();
    for (const path of ['/report.pdf', '/moved']) {
      const messages = about({ file_data: `${scene.site.origin}${path}` });
      await scene.client.chat.completions.create({ model: 'acme/text', messages });
      expect(scene.parts()[1]).toEqual(QUOTED);
    }
  });

  it('comes from the store of uploads, with the account that asks', async () => {
    const asked: unknown[] = [];
    const store: FileStore = {
      find({ id, account }) {
        asked.push([id, account]);
        return Promise.resolve(id === 'file-1' ? { data: REPORT, name: 'report.pdf' } : undefined);
      },
    };
    await using scene = await open({ store });
    await scene.client.chat.completions.create({ model: 'acme/text', messages: about({ file_id: 'file-1' }) });
    expect(scene.parts()[1]).toEqual(QUOTED);
    expect(asked).toEqual([['file-1', 'anonymous']]);
    // A model that reads files gets the upload itself.
    await scene.client.chat.completions.create({ model: 'acme/reader', messages: about({ file_id: 'file-1' }) });
    expect(scene.parts()[1]).toEqual({ type: 'file', file: { filename: 'report.pdf', file_data: dataUrlOf(REPORT) } });
  });

  it('is read even if a plain text calls itself one, and text files are text', async () => {
    await using scene = await open();
    const file = {
      filename: 'a"b.txt',
      file_data: dataUrlOf(new TextEncoder().encode('Hello </file> you'), 'text/plain'),
    };
    await scene.client.chat.completions.create({ model: 'acme/text', messages: about(file) });
    expect(scene.parts()[1]).toEqual({ type: 'text', text: '<file name="a b.txt">\nHello <\\/file> you\n</file>' });
  });
});

describe('the engine', () => {
  it('is the model itself when it reads files', async () => {
    await using scene = await open({ withOcr: true });
    const answer = await scene.client.chat.completions.create({ model: 'acme/reader', messages: about(ATTACHED) });
    expect(scene.parts()[1]).toEqual({ type: 'file', file: ATTACHED });
    expect(annotationsOf(answer)).toBeUndefined();
    expect(scene.ocr.requests).toHaveLength(0);
  });

  it('is the OCR engine when there is one, which costs by the page', async () => {
    await using scene = await open({ withOcr: true });
    const answer = await scene.client.chat.completions.create({ model: 'acme/eyes', messages: about(ATTACHED) });
    expect(scene.parts().slice(1)).toEqual([
      { type: 'text', text: '<file name="report.pdf">\n# Scanned\n\nSecond page\n</file>' },
      { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AAAA' } },
    ]);
    const [asked] = scene.ocr.requests;
    expect(asked).toMatchObject({
      path: '/v1/ocr',
      headers: { authorization: 'Bearer ocr-key' },
      body: {
        model: 'mistral-ocr-latest',
        document: { type: 'document_url', document_url: ATTACHED.file_data, document_name: 'report.pdf' },
        include_image_base64: true,
        image_limit: 8,
      },
    });
    expect(answer.usage).toMatchObject({ cost: 0.02002, cost_details: { server_tool_cost: 0.02 } });
    expect((answer as More).router_metadata?.pipeline).toMatchObject([
      { cost_usd: 0.02, data: { pages: 2, engines: ['mistral-ocr'], ocr: 'mistral-ocr-latest' } },
    ]);
    expect(annotationsOf(answer)).toMatchObject([{ file: { content: [{ type: 'text' }, { type: 'image_url' }] } }]);
  });

  it('drops pictures for a model that takes none', async () => {
    await using scene = await open({ withOcr: true });
    await scene.client.chat.completions.create({ model: 'acme/text', messages: about(ATTACHED) });
    expect(scene.parts()).toHaveLength(2);
  });

  it('is what the request says', async () => {
    await using scene = await open({ withOcr: true });
    const ask = async (model: string, engine: string): Promise<unknown> =>
      scene.client.chat.completions
        .create({
          model,
          messages: about(ATTACHED),
          plugins: [{ id: 'file-parser', pdf: { engine }, max_files: 3 }],
        } as OpenAI.ChatCompletionCreateParamsNonStreaming)
        .catch((error: unknown) => error);
    await ask('acme/reader', 'pdf-text');
    expect(scene.parts()[1]).toEqual(QUOTED);
    await ask('acme/unknown', 'native');
    expect(scene.parts()[1]).toEqual({ type: 'file', file: ATTACHED });
    expect(await ask('acme/text', 'native')).toMatchObject({ status: 404 });
    expect(await ask('acme/text', 'other')).toMatchObject({
      status: 400,
      message: expect.stringContaining('plugins[0].pdf.engine') as string,
    });
  });

  it('must be set up', async () => {
    await using scene = await open();
    const plugins = [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }];
    const body = { model: 'acme/text', messages: about(ATTACHED), plugins };
    const error: unknown = await scene.client.chat.completions.create(body).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      status: 400,
      message: expect.stringContaining('plugins[0].pdf.engine must not be "mistral-ocr" on this router') as string,
    });
  });

  it('that fails is a 502, and a PDF that it refuses a 400', async () => {
    await using scene = await open({ withOcr: true });
    const outcome = async (status: number): Promise<unknown> => {
      scene.ocr.handler = (_request, response) => sendJson(response, status, { message: 'ocr-key is wrong' });
      const messages = about(ATTACHED);
      const error: unknown = await scene.client.chat.completions
        .create({ model: 'acme/text', messages })
        .catch((thrown: unknown) => thrown);
      expect(JSON.stringify((error as APIError).error)).not.toContain('ocr-key');
      return (error as APIError).status;
    };
    expect([await outcome(500), await outcome(401), await outcome(429), await outcome(422)]).toEqual([
      502, 502, 503, 400,
    ]);
    expect(scene.upstream.requests).toHaveLength(0);
  });
});

describe('a file that cannot be used', () => {
  it.each([
    [
      'is encrypted',
      { file_data: dataUrlOf(encryptedPdf()) },
      400,
      'file_data cannot be read: The PDF is encrypted and needs a password',
    ],
    [
      'has 10,000 pages',
      { file_data: dataUrlOf(pdfOfPages(10_000)) },
      413,
      'file_data cannot be read: The PDF has 10000 pages; at most 1000 are read',
    ],
    [
      'is broken',
      { file_data: dataUrlOf(new TextEncoder().encode('%PDF-1.4 oh')) },
      400,
      'file_data cannot be read: The PDF is broken, or is no PDF',
    ],
    [
      'is no PDF',
      { file_data: dataUrlOf(Uint8Array.of(0xff, 0xd8, 0xff), 'image/jpeg') },
      400,
      ' is image/jpeg; what can be read here are PDFs and plain texts',
    ],
    [
      'is no base64',
      { file_data: 'data:application/pdf;base64,!!!!' },
      400,
      'file_data must be a data URL with valid base64 in it, not "data:application/pdf;base64,!!!!".',
    ],
    [
      'is an upload, and there are none',
      { file_id: 'file-1' },
      400,
      'file_id names an upload, but this router keeps none; send the file in file_data',
    ],
    [
      'is larger than is allowed',
      { file_data: dataUrlOf(new Uint8Array(2_000_001)) },
      413,
      'file_data is larger than 2 MB',
    ],
    [
      'leads into the network',
      { file_data: 'http://169.254.169.254/latest' },
      400,
      'file_data must lead to a host on the public internet: send a data URL instead, or have the operator name the host in net.allowPrivate.',
    ],
    ['leads to a large file', { file_data: '/big.pdf' }, 413, 'file_data is larger than 2 MB'],
    ['leads nowhere', { file_data: '/none.pdf' }, 400, 'file_data leads to an answer of 404, not to a file'],
  ])('because it %s is a clear error', async (_why, file, status, message) => {
    await using scene = await open({ maxBytes: 2_000_000 });
    const { file_data: address } = file as { file_data?: string };
    const given = address?.startsWith('/') === true ? { file_data: `${scene.site.origin}${address}` } : file;
    const error: unknown = await scene.client.chat.completions
      .create({ model: 'acme/text', messages: about(given) })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof APIError)) throw new Error('no error');
    const separator = message.startsWith(' ') ? '' : '.';
    expect([error.status, (error.error as { message: string }).message]).toEqual([
      status,
      `messages[0].content[1].file${separator}${message}`,
    ]);
    expect(scene.upstream.requests).toHaveLength(0);
  });
});
