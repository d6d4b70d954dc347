import {
  ConfigError,
  anthropic,
  azure,
  google,
  groq,
  localQueue,
  memoryStore,
  ollama,
  openaiCompatible,
  simulated,
} from 'signalbox';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { redisStore } from 'signalbox/redis';
import { sqliteStorage } from 'signalbox/sqlite';
import { afterEach, describe, expect, it, vi } from 'vitest';

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

afterEach(() => vi.unstubAllEnvs());

describe('options of providers, storages and queues', () => {
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
      untyped(openaiCompatible, { slug: 'x', baseURL: 'https://x.test', dialect: { usrField: 'user' } }),
      'providers.x.dialect.usrField … "userField"?',
    ],
    ['simulated', untyped(simulated, { sed: 1 }), 'providers.simulated.sed … "seed"?'],
    ['memoryStore', untyped(memoryStore, { maxEntrys: 1 }), 'memoryStore.maxEntrys … "maxEntries"?'],
    ['localQueue', untyped(localQueue, { polMs: 1 }), 'localQueue.polMs … "pollMs"?'],
    ['redisStore', untyped(redisStore, { uri: 'redis://x' }), 'redisStore.uri … "url"?'],
    ['sqliteStorage', untyped(sqliteStorage, { fil: 'x' }), 'sqliteStorage.fil … "file"?'],
    [
      'postgresStorage',
      untyped(postgresStorage, { connectionString: THERE, migrat: false }),
      'postgresStorage.migrat … "migrate"?',
    ],
    ['pgBossQueue', untyped(pgBossQueue, { connectionString: THERE, shema: 'x' }), 'pgBossQueue.shema … "schema"?'],
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
