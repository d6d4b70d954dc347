/** Runs in a process of its own: it replaces modules. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { ConfigError } from 'signalbox';
import { findCatalog, genaiPrices, parseModelsDev, readCatalogLock, writeCatalogLock } from 'signalbox/catalog';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const FACTS = parseModelsDev({ groq: { models: { one: { cost: { input: 1, output: 2 } } } } }, '2026-11-20');

afterEach(() => {
  vi.doUnmock('../../../src/runtime/catalog/genai-package.ts');
  vi.resetModules();
});

/** As on a machine where the package is not installed. */
function withoutThePackage(): void {
  vi.resetModules();
  vi.doMock('../../../src/runtime/catalog/genai-package.ts', () => ({
    importGenaiPrices: () => Promise.resolve(undefined),
  }));
}

describe('a lock file', () => {
  it('is read as it was written, and leaves nothing else behind', async () => {
    using folder = temporaryFolder();
    await writeCatalogLock(folder.file('lock.json'), FACTS);
    expect(readCatalogLock(folder.file('lock.json'))).toEqual(FACTS);
    expect(readdirSync(folder.path)).toEqual(['lock.json']);
  });

  it('stays as it was when it cannot be replaced', async () => {
    using folder = temporaryFolder();
    mkdirSync(folder.file('lock.json'));
    await expect(writeCatalogLock(folder.file('lock.json'), FACTS)).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/);
    expect(readdirSync(folder.path)).toEqual(['lock.json']);
    await expect(writeCatalogLock(folder.file('nowhere/lock.json'), FACTS)).rejects.toThrow('ENOENT');
  });

  it('that is not there is a mistake that says how to get one', () => {
    using folder = temporaryFolder();
    expect(() => readCatalogLock(folder.file('lock.json'))).toThrow(/lock\.json, which is not there.*catalog refresh/);
  });

  it.each([
    ['{', /must be JSON/],
    ['[]', /catalog/],
    ['{"version":1,"origins":[],"vendors":{"groq":{"one":{}}}}', /catalog\.vendors\.groq\.one\.from/],
  ])('with %j in it is a mistake', (text, message) => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('lock.json'), text);
    expect(() => readCatalogLock(folder.file('lock.json'))).toThrow(ConfigError);
    expect(() => readCatalogLock(folder.file('lock.json'))).toThrow(message);
  });
});

describe('genai-prices', () => {
  it('gives prices of the vendors that were asked for, when the package is installed', async () => {
    const { vendors, origins } = await genaiPrices({ vendors: ['openai', 'cerebras', 'nobody'] });
    expect(Object.keys(vendors)).toEqual(['openai', 'cerebras']);
    expect(vendors['openai']?.['gpt-5.4']?.endpoint?.price?.above).toHaveLength(1);
    expect(origins).toMatchObject([{ source: '@pydantic/genai-prices', licence: 'MIT' }]);
  });

  it('names the command that installs it, when it is not', async () => {
    withoutThePackage();
    const sources = await import('../../../src/runtime/catalog/genai-prices.ts');
    await expect(sources.genaiPrices()).rejects.toThrow('npm install @pydantic/genai-prices');
  });
});

describe('what can be found', () => {
  it('is the lock file, before the package', async () => {
    using folder = temporaryFolder();
    await writeCatalogLock(folder.file('lock.json'), FACTS);
    expect(await findCatalog(folder.file('lock.json'))).toEqual(FACTS);
  });

  it('is the package where there is no lock file', async () => {
    using folder = temporaryFolder();
    expect((await findCatalog(folder.file('lock.json')))?.origins[0]?.source).toBe('@pydantic/genai-prices');
  });

  it('is nothing where there is neither', async () => {
    using folder = temporaryFolder();
    withoutThePackage();
    const sources = await import('../../../src/runtime/catalog/genai-prices.ts');
    expect(await sources.findCatalog(folder.file('lock.json'))).toBeUndefined();
  });

  it('is a mistake, and not the package, where the lock file is broken', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('lock.json'), 'broken');
    await expect(findCatalog(folder.file('lock.json'))).rejects.toThrow(ConfigError);
    expect(readFileSync(folder.file('lock.json'), 'utf8')).toBe('broken');
  });
});
