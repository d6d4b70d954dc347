import { createRouter } from 'signalbox';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VENDOR_PRESETS } from '../src/providers/openai-compatible/presets.ts';
import { SEMAPHORE_WIRE, type SemaphoreFactory, semaphoreHarness } from './support/semaphore-harness.ts';
import { readProjectFile } from './support/source-files.ts';
import { checksOf } from './support/wire-harness.ts';

const docs = readProjectFile('docs/providers.md');
const example = /<!-- example: (\S+) -->\n+```ts\n([\s\S]*?)```/.exec(docs);
/** Inside the project, so that `signalbox` in the example means this package. */
const folder = join(fileURLToPath(new URL('..', import.meta.url)), 'coverage/docs-providers');

let semaphore: SemaphoreFactory;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'semaphore.ts');
  writeFileSync(file, example?.[2] ?? '');
  ({ semaphore } = (await import(pathToFileURL(file).href)) as { semaphore: SemaphoreFactory });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the provider that docs/providers.md adds', () => {
  it('is the one among the examples, which the compiler checks', () => {
    const [, path = '', text] = example ?? [];
    expect(text).toBe(readProjectFile(path));
    expect(text?.split('\n').length).toBeLessThan(180);
  });

  it.each(checksOf(SEMAPHORE_WIRE).map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await semaphoreHarness(semaphore);
    await run(harness);
  });

  it('is refused with a wrong address', () => {
    expect(() => semaphore({ models: {}, apiKey: 'key', baseURL: 'semaphore.example' })).toThrow(
      'providers.semaphore.baseURL must be an http(s) address',
    );
  });

  it('falls back to another provider for what its wire cannot say, and tells the path when there is none', async () => {
    await using harness = await semaphoreHarness(semaphore);
    const router = createRouter({ providers: [harness.provider] });
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const content = [{ type: 'image_url', image_url: { url } }] as const;
    await expect(router.chat({ model: 'semaphore/one', messages: [{ role: 'user', content }] })).rejects.toThrow(
      'messages[0].content[0] is a part of type image_url, but Semaphore takes text only',
    );
    expect(harness.calls).toEqual([]);
    await router.close();
  });
});

describe('the table of vendors', () => {
  it.each(Object.values(VENDOR_PRESETS))('names $slug with its variables', ({ slug, apiKeyVariables }) => {
    const row = docs.split('\n').find((line) => line.startsWith(`| \`${slug}\` `));
    expect(row, `a row for ${slug} in the table of vendors of docs/providers.md`).toBeDefined();
    for (const variable of apiKeyVariables) expect(row).toContain(`\`${variable}\``);
  });
});
