import { createRouter, type Plugin, simulated } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type UnaskedFor, unaskedFor } from '../../../src/core/pipeline/define-plugin.ts';

const FILE = { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' } } as const;

/** A plugin that may run unasked, and notes the model of every request that it is shown. */
function looking(what: UnaskedFor | undefined, shown: string[]): Plugin {
  const decides: NonNullable<Plugin['runsUnasked']> = ({ requested }) => {
    shown.push(requested);
    return false;
  };
  const runsUnasked = what === undefined ? decides : unaskedFor(what, decides);
  return {
    id: `looking-for-${what === undefined ? 'anything' : what.replace('_', '-')}`,
    whenItThrows: 'fail',
    runsUnasked,
  };
}

/** The models of the requests that plugins are shown. */
async function shownTo(plugin: Plugin, shown: readonly string[]): Promise<readonly string[]> {
  const models: Record<string, { readonly contextLength?: number }> = {
    'acme/long': { contextLength: 8_193 },
    'acme/short': { contextLength: 8_192 },
    'acme/unknown': {},
  };
  const router = createRouter({
    providers: [simulated({ slug: 'acme', models, answer: () => 'Yes' })],
    plugins: [plugin],
  });
  for (const model of Object.keys(models)) {
    await router.chat({ model, messages: [{ role: 'user', content: 'Hello' }] });
    await router.explain({ model, messages: [{ role: 'user', content: [{ type: 'text', text: 'Read this' }, FILE] }] });
  }
  await router.close();
  return shown;
}

describe('a plugin that may take part unasked', () => {
  it.each<[UnaskedFor | undefined, readonly string[]]>([
    [undefined, ['acme/long', 'acme/long', 'acme/short', 'acme/short', 'acme/unknown', 'acme/unknown']],
    ['files', ['acme/long', 'acme/short', 'acme/unknown']],
    ['short_context', ['acme/short', 'acme/short']],
  ])('that looks for %s is shown only requests that may have it', async (what, models) => {
    const shown: string[] = [];
    expect(await shownTo(looking(what, shown), shown)).toEqual(models);
  });

  it('decides by itself where a copy of it replaces what decides', async () => {
    const shown: string[] = [];
    const copy: Plugin = {
      ...looking('files', []),
      runsUnasked: ({ requested }) => {
        shown.push(requested);
        return false;
      },
    };
    expect(await shownTo(copy, shown)).toHaveLength(6);
  });
});
