import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LanguageServer, startLanguageServer } from './support/language-server.ts';
import { openInEditor, type Editor } from './support/language-service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** A program as it is while somebody writes it: texts are still empty where the editor is asked what could be there. */
const PROGRAM = `
import { apiKeys, createRouter, openai, RouterError, simulated } from 'signalbox';

const router = createRouter({
  providers: [
    simulated({ slug: 'east', failureRate: 0.5, models: { 'acme/small': { price: { prompt: 1, completion: 2 }, rpm: 60 } } }),
    openai({ apiKey: 'x', models: { 'openai/gpt-5-mini': { upstreamModel: 'gpt-5', contextLength: 400_000 } } }),
  ],
  aliases: { fast: 'acme/small' },
  presets: { careful: { temperature: 0, cache_enabled: false } },
  timeouts: { firstTokenMs: 10_000 },
  fallback: { maxAttempts: 4, maxWaitMs: 1_000 },
  limits: { concurrentRequests: 100 },
  pluginDefaults: [{ id: 'web', preventOverrides: true }],
  tuning: { hedgeShare: 0.02 },
  identitySecret: 'secret',
  authenticate: apiKeys([{ id: 'shop', key: 'x', budget: { limitUsd: 5, period: 'day' } }]),
  inspector: undefined,
  on: { attempt: (event) => console.log(event.durationMs) },
});
const answer = await router.chat({
  model: 'acme/small',
  messages: [{ role: 'user', content: 'Hello' }],
  max_completion_tokens: 100,
  provider: { sort: 'price', order: ['east'], max_price: { completion: 2 } },
  plugins: [{ id: 'web' }],
  reasoning: { effort: 'low' },
  metadata: { team: 'search' },
  session_id: 'one',
});
answer.usage?.cost;
router.on('attempt', (event) => event.costNanoUsd);
router.on('warning', (event) => event.code);
`;

const EMPTY = `
import { createRouter, openai, RouterError, simulated } from 'signalbox';

const router = createRouter({ providers: [simulated({ models: { 'acme/small': {}, 'acme/large': {} } })], aliases: { fast: 'acme/small' } });
createRouter({ strategy: '' });
createRouter({ timeouts: { } });
createRouter({ providers: [], });
openai({ models: { one: { } } });
router.chat({ messages: [], model: '' });
router.chat({ messages: [], plugins: [{ id: '' }] });
router.chat({ messages: [], provider: { sort: '' } });
router.chat({ messages: [], provider: { order: [''] } });
router.chat({ messages: [], provider: { only: [''] } });
createRouter({ pluginDefaults: [{ id: '' }] });
createRouter({ policy: { ignore: [''] } });
router.chat({ messages: [], tools: [{ type: '' }] });
router.on('', () => {});
export const isLimited = (error: unknown) => RouterError.isInstance(error) && error.errorType === '';
`;

/** Editors ask one of two: the language service of TypeScript up to 6, or the language server of TypeScript 7. */
let program: Editor;
let empty: Editor;
let server: LanguageServer;

// In the project, so that `signalbox` means this package, as users get it; but a project of their own, so that the
// language server reads the package alone, and not all of its sources and tests.
const FOLDER = `${root}coverage/editor`;
const PROGRAM_FILE = `${FOLDER}/program.ts`;
const EMPTY_FILE = `${FOLDER}/empty.ts`;
const SETTINGS = {
  compilerOptions: { module: 'nodenext', target: 'esnext', strict: true, skipLibCheck: true, types: ['node'] },
};

async function isShown(written: string, said: string): Promise<void> {
  expect(program.hover(written)).toContain(said);
  // Lines of a comment may break anywhere.
  expect((await server.hover(PROGRAM_FILE, PROGRAM, written)).replaceAll('\n', ' ')).toContain(said);
}

beforeAll(async () => {
  if (!existsSync(`${root}dist/index.js`)) throw new Error('npm run build comes first');
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/tsconfig.json`, JSON.stringify(SETTINGS));
  writeFileSync(PROGRAM_FILE, PROGRAM);
  writeFileSync(EMPTY_FILE, EMPTY);
  program = openInEditor(PROGRAM_FILE, PROGRAM);
  empty = openInEditor(EMPTY_FILE, EMPTY);
  server = await startLanguageServer();
});

afterAll(() => {
  server.close();
  rmSync(FOLDER, { recursive: true, force: true });
});

describe('what an editor shows over', () => {
  it.each([
    ['providers: [', 'What serves models'],
    ['aliases: {', '{ split: [{ model, weight: 95 }'],
    ['temperature:', 'how random the answer is'],
    ['cache_enabled:', 'response cache'],
    ['timeouts: {', 'How long the router waits'],
    ['firstTokenMs:', 'first token of a stream; twice as long at most'],
    ['maxAttempts:', 'Default 8'],
    ['hedgeShare:', 'Default 0.012'],
    ['identitySecret:', 'Default: random for each router'],
    ['authenticate:', 'apiKeys([...])'],
    ['key: ', 'The key itself'],
    ['tuning: {', 'Unstable'],
    ['attempt: (', 'An upstream call ended'],
    ['pluginDefaults:', 'although requests do not name them'],
    ['preventOverrides:', 'Default false'],
    ['concurrentRequests:', 'last byte of their answer'],
    ['maxWaitMs:', 'Default 2,000'],
    ['limitUsd:', 'until the period ends'],
    ['failureRate:', 'from 0 to 1'],
    ['price: {', '{ prompt: 1.25, completion: 10, cacheRead: 0.125 }'],
    ['prompt: 1,', 'USD per million input tokens'],
    ['rpm:', 'Requests per minute'],
    ['upstreamModel:', 'What the provider calls the model'],
    ['contextLength:', 'prompt and answer together'],
  ])('an option, %s', async (written, said) => isShown(written, said), 60_000);

  it.each([
    ["model: 'acme/small',\n", 'router/auto'],
    ['messages:', "{ role: 'user', content: 'Hello' }"],
    ['max_completion_tokens:', 'reasoning included'],
    ['provider: {', "sort: 'price'"],
    ["order: ['east'", "['azure', 'deepinfra/turbo']"],
    ['max_price:', 'US dollars per million tokens'],
    ['plugins:', "{ id: 'response-healing' }"],
    ['reasoning:', "{ effort: 'low', exclude: true }"],
    ['metadata:', "team: 'search'"],
    ['session_id:', 'stick to one provider'],
  ])('a field of a request, %s', async (written, said) => isShown(written, said), 60_000);

  it.each([
    ['cost;', 'US dollars charged'],
    ['costNanoUsd', 'nano-dollars'],
    ['code);', 'catalog_stale'],
    ['createRouter({', 'openai/gpt-5-mini'],
    ['simulated({', "failures: ['ok'"],
  ])('a member of an answer or an event, or a function, %s', async (written, said) => isShown(written, said), 60_000);
});

describe('what an editor offers for', () => {
  it.each([
    [
      'a model of a configured provider, or an alias',
      "model: '",
      ['acme/small', 'acme/large', 'acme/small:nitro', 'fast'],
    ],
    ['a plugin', "plugins: [{ id: '", ['web', 'response-healing', 'context-compression', 'moderation', 'fusion']],
    ['a server tool', "tools: [{ type: '", ['function', 'router:web_search', 'router:datetime']],
    ['an order', "sort: '", ['price', 'throughput', 'latency', 'exacto']],
    ['an order of providers', "order: ['", ['openai', 'anthropic', 'vllm', 'simulated']],
    ['providers that may be used', "only: ['", ['openai', 'azure', 'google']],
    ['a plugin for every request', "pluginDefaults: [{ id: '", ['web', 'guardrails', 'response-healing']],
    ['providers that an account may not use', "ignore: ['", ['deepseek', 'openrouter']],
    ['a strategy', "strategy: '", ['adaptive', 'balanced']],
    ['a type of error', "errorType === '", ['rate_limit_exceeded', 'provider_unavailable', 'context_length_exceeded']],
    ['an event', "router.on('", ['attempt', 'result', 'warning', 'configuration']],
    ['an option of the router', 'providers: [], ', ['aliases', 'authenticate', 'timeouts', 'inspector']],
    ['a timeout', 'timeouts: { ', ['firstTokenMs', 'idleMs']],
    ['what is declared of a model', 'one: { ', ['price', 'contextLength', 'upstreamModel', 'rpm']],
  ])('%s', { timeout: 60_000 }, async (_what, written, offered) => {
    expect(empty.completions(written)).toEqual(expect.arrayContaining(offered));
    expect(await server.completions(EMPTY_FILE, EMPTY, written)).toEqual(expect.arrayContaining(offered));
  });
});
