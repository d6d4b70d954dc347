import {
  type ChatRequest,
  type Endpoint,
  type FileParserOptions,
  type PdfReader,
  PdfError,
  type Router,
  createRouter,
  fileParser,
  simulated,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { dataUrlOf, pdfWith } from '../../support/pdf.ts';
import { streamed } from '../../support/plugins.ts';

const PDF = dataUrlOf(pdfWith(['Some text']));

/** Says what kinds of parts it got, and from what provider. */
const telling: Parameters<typeof simulated>[0] = {
  firstTokenMs: 0,
  tokensPerSecond: 0,
  answer: ({ messages }) => {
    const content = messages[0]?.content;
    return typeof content === 'string' ? content : (content ?? []).map((part) => part.type).join();
  },
};

type Modalities = readonly NonNullable<
  Endpoint['inputModalities'] extends ReadonlySet<infer One> | undefined ? One : never
>[];

function routerOf(
  providers: Readonly<Record<string, { readonly takes?: Modalities; readonly fails?: boolean }>>,
  options: FileParserOptions = {},
): Router {
  return createRouter({
    providers: Object.entries(providers).map(([slug, { takes, fails = false }]) =>
      simulated({
        ...telling,
        slug,
        name: slug,
        models: { 'acme/one': takes === undefined ? {} : { inputModalities: takes } },
        failures: fails ? [{ kind: 'server' }] : [],
      }),
    ),
    plugins: [fileParser(options)],
    on: { warning: () => {} },
  });
}

function counting(
  read: PdfReader['read'] = () => Promise.resolve({ pages: ['Some text'], totalPages: 1 }),
): PdfReader & {
  readonly reads: () => number;
} {
  let reads = 0;
  return {
    reads: () => reads,
    read(request) {
      reads += 1;
      return read(request);
    },
  };
}

function withFile(more: Partial<ChatRequest> = {}, file: object = { file_data: PDF }): ChatRequest {
  return {
    model: 'acme/one',
    messages: [{ role: 'user', content: [{ type: 'file', file }] }],
    ...more,
  };
}

async function said(router: Router, request: ChatRequest): Promise<unknown> {
  return (await router.chat(request)).choices[0]?.message.content;
}

describe('a file when several providers may answer', () => {
  it('goes to the one that reads it, and as text to the next one when that fails', async () => {
    const reader = counting();
    const router = routerOf(
      { native: { takes: ['text', 'file'], fails: true }, plain: { takes: ['text'] } },
      { reader },
    );
    const provider = { order: ['native', 'plain'] };
    const answer = await router.chat(withFile({ provider }));
    expect([answer.provider, answer.choices[0]?.message.content]).toEqual(['plain', 'text']);
    expect(answer.choices[0]?.message.annotations).toHaveLength(1);
    // The failures are used up: now the first one answers, and nothing has to be read.
    expect(await said(router, withFile({ provider }))).toBe('file');
    expect(reader.reads()).toBe(1);
  });

  it('is read once however many of them are tried, and however often it stands there', async () => {
    const reader = counting();
    const router = routerOf({ a: { takes: ['text'], fails: true }, b: { takes: ['text'] }, c: {} }, { reader });
    const part = { type: 'file' as const, file: { file_data: PDF } };
    const request = { ...withFile(), messages: [{ role: 'user' as const, content: [part, part] }] };
    expect(await said(router, request)).toBe('text,text');
    expect(reader.reads()).toBe(1);
  });

  it('never excludes one of them by itself', async () => {
    const router = routerOf({ plain: { takes: ['text'] } }, { reader: counting() });
    const { rejected, plugins } = await router.explain(withFile());
    expect(rejected).toEqual([]);
    expect(plugins).toMatchObject([{ id: 'file-parser', because: 'itself' }]);
  });
});

describe('a file for a model of which nothing is known', () => {
  it('is read, unless nothing here can read it', async () => {
    expect(await said(routerOf({ a: {} }, { reader: counting() }), withFile())).toBe('text');
    const none = counting(() => Promise.reject(new PdfError('unavailable', 'Nothing reads PDFs here')));
    expect(await said(routerOf({ a: {} }, { reader: none }), withFile())).toBe('file');
    await expect(routerOf({ a: { takes: ['text'] } }, { reader: none }).chat(withFile())).rejects.toMatchObject({
      status: 400,
      message: 'messages[0].content[0].file.file_data cannot be read: Nothing reads PDFs here',
    });
    // An id may be one of the provider's own.
    expect(await said(routerOf({ a: {} }), withFile({}, { file_id: 'file-of-theirs' }))).toBe('file');
  });
});

describe('the file parser', () => {
  it('takes no part in requests without files, or with files that everybody reads', async () => {
    const router = routerOf({ a: { takes: ['text', 'file'] } });
    expect((await router.explain(withFile())).plugins).toEqual([]);
    const plain = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Hi' }] };
    expect((await router.explain(plain)).plugins).toEqual([]);
    expect(await said(router, { ...plain, plugins: [{ id: 'file-parser' }] })).toBe('Hi');
  });

  it('is switched off by a request', async () => {
    const router = routerOf({ a: {} }, { reader: counting() });
    expect(await said(router, withFile({ plugins: [{ id: 'file-parser', enabled: false }] }))).toBe('file');
  });

  it('reads files in results of tools too, and keeps cache marks', async () => {
    const seen: unknown[] = [];
    const provider = simulated({
      ...telling,
      models: { 'acme/one': {} },
      answer: ({ messages }) => {
        seen.push(messages.at(-1)?.content);
        return 'ok';
      },
    });
    const router = createRouter({ providers: [provider], plugins: [fileParser({ reader: counting() })] });
    const file = { type: 'file' as const, file: { file_data: PDF }, cache_control: { type: 'ephemeral' as const } };
    await router.chat({
      model: 'acme/one',
      messages: [
        { role: 'user', content: 'Get it' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'get', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: [file] },
      ],
    });
    expect(seen).toEqual([
      [
        {
          type: 'text',
          text: '<file name="document">\nSome text\n</file>',
          cache_control: { type: 'ephemeral' },
        },
      ],
    ]);
  });

  it('says that a file has no text', async () => {
    const router = routerOf(
      { a: { takes: ['text'] } },
      { reader: counting(() => Promise.resolve({ pages: [''], totalPages: 1 })) },
    );
    const answer = await router.chat(withFile());
    expect(answer.choices[0]?.message.annotations).toMatchObject([{ file: { content: [{ type: 'text', text: '' }] } }]);
  });

  it('lets nobody wait for ever', async () => {
    const reader = counting(() => new Promise(() => {}));
    const router = routerOf({ a: { takes: ['text'] } }, { reader, timeoutMs: 20 });
    const { error } = await streamed(router, withFile());
    expect(error).toMatchObject({ status: 502, message: 'The plugin "file-parser" took too long' });
  });
});
