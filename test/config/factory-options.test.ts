import {
  ConfigError,
  advisorTool,
  anthropic,
  autoBetaRouter,
  autoRouter,
  azure,
  brave,
  contextCompression,
  exa,
  fileParser,
  filesTool,
  fromAiSdk,
  fusion,
  fusionTool,
  google,
  groq,
  guardedFetcher,
  guardrails,
  imageGenerationTool,
  localPdfReader,
  localQueue,
  memoryFileLibrary,
  memoryStorage,
  memoryStore,
  mistralOcr,
  moderation,
  ollama,
  openaiCompatible,
  openaiImages,
  openaiModeration,
  paretoRouter,
  searxng,
  simulated,
  subagentTool,
  tavily,
  web,
  webFetchTool,
  webSearchTool,
} from 'signalbox';
import { durableObjectStore } from 'signalbox/durable-objects';
import { mcpTool } from 'signalbox/mcp';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { redisStore } from 'signalbox/redis';
import { sqliteStorage } from 'signalbox/sqlite';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { handMade } from '../support/ai-sdk-models.ts';

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems.map(({ path, problem }) => `${path} ${problem}`);
    throw error;
  }
  return [];
}

/** Calls a function as a program without types would. */
function untyped(make: (options: never) => unknown, options: unknown): () => unknown {
  return () => make(options as never);
}

const KEY = 'sk-000000000000000000';
const THERE = 'postgres://127.0.0.1/none';

const MODEL = handMade();

afterEach(() => vi.unstubAllEnvs());

describe('options of whatever makes a part of a router', () => {
  it.each<[string, () => unknown, string]>([
    ['groq', untyped(groq, { apiKey: KEY, basURL: 'x' }), 'providers.groq.basURL … "baseURL"?'],
    ['anthropic', untyped(anthropic, { apiKey: KEY, beta: [] }), 'providers.anthropic.beta … "betas"?'],
    [
      'google',
      untyped(google, { apiKey: KEY, safetySetting: [] }),
      'providers.google.safetySetting … "safetySettings"?',
    ],
    ['azure', untyped(azure, { apiKey: KEY, resource: 'r', model: {} }), 'providers.azure.model … "models"?'],
    [
      'openaiCompatible',
      untyped(openaiCompatible, { slug: 'x', baseURL: 'https://x.test', quirks: { usrField: 'user' } }),
      'providers.x.quirks.usrField … "userField"?',
    ],
    ['simulated', untyped(simulated, { sed: 1 }), 'providers.simulated.sed … "seed"?'],
    ['memoryStore', untyped(memoryStore, { maxEntrys: 1 }), 'memoryStore.maxEntrys … "maxEntries"?'],
    ['localQueue', untyped(localQueue, { polMs: 1 }), 'localQueue.polMs … "pollMs"?'],
    ['redisStore', untyped(redisStore, { uri: 'redis://x' }), 'redisStore.uri … "url"?'],
    [
      'durableObjectStore',
      untyped(durableObjectStore, { namespace: { idFromName: () => 1, get: () => 1 }, nam: 'x' }),
      'durableObjectStore.nam … "name"?',
    ],
    ['sqliteStorage', untyped(sqliteStorage, { fil: 'x' }), 'sqliteStorage.fil … "file"?'],
    [
      'postgresStorage',
      untyped(postgresStorage, { connectionString: THERE, migrat: false }),
      'postgresStorage.migrat … "migrate"?',
    ],
    ['pgBossQueue', untyped(pgBossQueue, { connectionString: THERE, shema: 'x' }), 'pgBossQueue.shema … "schema"?'],
    ['memoryStorage', untyped(memoryStorage, { noww: Date.now }), 'memoryStorage.noww … "now"?'],
    [
      'fromAiSdk',
      untyped(fromAiSdk, { slug: 'x', models: { 'x/y': MODEL }, header: {} }),
      'providers.x.header … "headers"?',
    ],
    [
      'fromAiSdk, inside',
      untyped(fromAiSdk, { slug: 'x', models: { 'x/y': { model: MODEL, contextLenght: 1 } } }),
      'providers.x.models[\'x/y\'].contextLenght … "contextLength"?',
    ],
    [
      'fromAiSdk, for one model',
      () => fromAiSdk(MODEL, { contextLenght: 1 } as never),
      'fromAiSdk.contextLenght … "contextLength"?',
    ],
    ['mcpTool', untyped(mcpTool, { servers: {}, timoutMs: 1 }), 'mcpTool.timoutMs … "timeoutMs"?'],
    ['web', untyped(web, { engine: [] }), 'web.engine … "engines"?'],
    ['webSearchTool', untyped(webSearchTool, { engine: [] }), 'webSearchTool.engine … "engines"?'],
    ['webFetchTool', untyped(webFetchTool, { maxRedirect: 1 }), 'webFetchTool.maxRedirect … "maxRedirects"?'],
    ['guardedFetcher', untyped(guardedFetcher, { maxByte: 1 }), 'guardedFetcher.maxByte … "maxBytes"?'],
    [
      'guardedFetcher, inside',
      untyped(guardedFetcher, { outbound: { port: [] } }),
      'guardedFetcher.outbound.port … "ports"?',
    ],
    ['localPdfReader', untyped(localPdfReader, { maxPage: 1 }), 'localPdfReader.maxPage … "maxPages"?'],
    ['fileParser', untyped(fileParser, { timeoutMS: 1 }), 'fileParser.timeoutMS … "timeoutMs"?'],
    ['mistralOcr', untyped(mistralOcr, { apiKey: KEY, modl: 'x' }), 'mistralOcr.modl … "model"?'],
    ['moderation', untyped(moderation, { servce: 1 }), 'moderation.servce … "service"?'],
    ['openaiModeration', untyped(openaiModeration, { apiKey: KEY, modl: 'x' }), 'openaiModeration.modl … "model"?'],
    ['guardrails', untyped(guardrails, { rule: [] }), 'guardrails.rule … "rules"?'],
    ['fusion', untyped(fusion, { preset: {} }), 'fusion.preset … "presets"?'],
    [
      'fusionTool',
      untyped(fusionTool, { presets: { 'general-hi': {} } }),
      'fusionTool.presets["general-hi"] … "general-high"?',
    ],
    ['advisorTool', untyped(advisorTool, { modl: 'x' }), 'advisorTool.modl … "model"?'],
    ['subagentTool', untyped(subagentTool, { modl: 'x' }), 'subagentTool.modl … "model"?'],
    [
      'imageGenerationTool',
      untyped(imageGenerationTool, { generators: {} }),
      'imageGenerationTool.generators … "generator"?',
    ],
    ['openaiImages', untyped(openaiImages, { apiKey: KEY, prices: {} }), 'openaiImages.prices … "price"?'],
    ['filesTool', untyped(filesTool, { librray: {} }), 'filesTool.librray … "library"?'],
    ['memoryFileLibrary', untyped(memoryFileLibrary, { maxFile: 1 }), 'memoryFileLibrary.maxFile … "maxFiles"?'],
    [
      'contextCompression',
      untyped(contextCompression, { imageToken: 1 }),
      'contextCompression.imageToken … "imageTokens"?',
    ],
    ['autoRouter', untyped(autoRouter, { maxModel: 1 }), 'autoRouter.maxModel … "maxModels"?'],
    ['autoBetaRouter', untyped(autoBetaRouter, { maxModel: 1 }), 'autoBetaRouter.maxModel … "maxModels"?'],
    ['paretoRouter', untyped(paretoRouter, { codingScores: 1 }), 'paretoRouter.codingScores … "codingScore"?'],
    ['exa', untyped(exa, { apiKey: KEY, basURL: 'x' }), 'exa.basURL … "baseURL"?'],
    ['tavily', untyped(tavily, { apiKey: KEY, basURL: 'x' }), 'tavily.basURL … "baseURL"?'],
    ['brave', untyped(brave, { apiKey: KEY, basURL: 'x' }), 'brave.basURL … "baseURL"?'],
    ['searxng', untyped(searxng, { baseURL: 'https://x.test', timoutMs: 1 }), 'searxng.timoutMs … "timeoutMs"?'],
  ])('that are misspelt are named with the right name: %s', (_name, make, expected) => {
    expect(problemsOf(make)).toEqual([expected.replace('…', 'is not an option; did you mean')]);
  });

  it.each<[string, () => unknown]>([
    ['a key of nothing', () => groq({ apiKey: '' })],
    ['a key of a space', () => groq({ apiKey: ' ' })],
    ['a key with a newline', () => anthropic({ apiKey: 'sk-1\n' })],
    ['a key that is no text', untyped(groq, { apiKey: 5 })],
    ['an address that is none', () => ollama({ baseURL: 'localhost' })],
    ['an address that is no text', untyped(anthropic, { apiKey: KEY, baseURL: 7 })],
    ['an address with a query', () => ollama({ baseURL: 'http://127.0.0.1/v1?x=1' })],
    ['an address with a fragment', () => ollama({ baseURL: 'http://127.0.0.1/v1#x' })],
    ['a header of two lines', () => ollama({ headers: { 'x-a': 'b\r\nc: d' } })],
    ['a transport that cannot send', untyped(ollama, { transport: {} })],
    ['a pool of nothing', () => postgresStorage({ connectionString: THERE, connections: 0 })],
    ['an address of Redis with another scheme', () => redisStore({ url: 'http://127.0.0.1' })],
    ['an address of pg-boss with another scheme', () => pgBossQueue({ connectionString: 'mysql://x' })],
    ['a lease of nothing', () => localQueue({ leaseMs: 0 })],
    ['room for no entry', () => memoryStore({ maxEntries: 0 })],
    ['options that are none', untyped(simulated, 'fast')],
    ['no key of a search engine', untyped(exa, {})],
    ['a key of a search engine that is no text', untyped(tavily, { apiKey: 5 })],
    ['no address of a search engine', untyped(searxng, {})],
    ['a price below nothing', () => brave({ apiKey: KEY, pricePerSearch: -1 })],
    ['a price that is no number', () => mistralOcr({ apiKey: KEY, pricePerPage: Number.NaN })],
    ['half a price', untyped(openaiImages, { apiKey: KEY, price: { prompt: 1 } })],
    ['an address of a service that is none', () => openaiModeration({ apiKey: KEY, baseURL: 'api.example' })],
    ['a search engine that cannot search', untyped(web, { engines: [{ id: 'x' }] })],
    ['a time as text', untyped(webSearchTool, { timeoutMs: '5s' })],
    ['no model to choose', () => autoRouter({ maxModels: 0 })],
    ['a word that is not one of some', untyped(guardrails, { streams: 'refused' })],
    ['no file at a time', () => localPdfReader({ concurrency: 0 })],
    ['a way to download that is none', untyped(fromAiSdk, { slug: 'x', models: { 'x/y': MODEL }, download: true })],
    ['null in the place of options', untyped(web, null)],
  ])('are refused with %s, in one problem', (_name, make) => {
    expect(problemsOf(make)).toHaveLength(1);
  });

  it('are told all at once, with the variable that would hold the key', () => {
    vi.stubEnv('GROQ_API_KEY', '');
    expect(problemsOf(untyped(groq, { basURL: 'x', baseURL: 'ftp://x', headers: { a: 1 } }))).toEqual([
      'providers.groq.basURL is not an option; did you mean "baseURL"?',
      'providers.groq.headers.a must be one line of text, not 1',
      'providers.groq.apiKey is missing: pass apiKey, or set GROQ_API_KEY in the environment',
      'providers.groq.baseURL must be an http(s) address',
    ]);
  });

  it('never show a key', () => {
    const secret = 'sk-secret with spaces';
    expect(problemsOf(untyped(groq, { apiKey: secret, sedd: secret })).join()).not.toContain('secret');
  });
});
