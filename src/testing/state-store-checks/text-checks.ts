/** Checks for state stores that keep streams: texts that grow. */
import type { StateStore } from '../../contracts/state-store.ts';
import { expectSame } from '../provider-checks/harness.ts';
import { LONG_MS, type StateStoreCheck, type StateStoreHarness } from './check.ts';

/** What stores need to keep streams. */
type Texts = Required<Pick<StateStore, 'append' | 'slice' | 'delete'>>;

/** A check of a store that keeps streams; it holds for one that does not. */
function textCheck(
  name: string,
  body: (texts: Texts, other: Texts, pass: StateStoreHarness['pass']) => Promise<void>,
  { needsSharing = false }: { readonly needsSharing?: boolean } = {},
): StateStoreCheck {
  const run = async ({ create, attach, pass }: StateStoreHarness): Promise<void> => {
    const store = await create();
    const other = needsSharing ? await attach?.() : store;
    try {
      if (keepsTexts(store) && other !== undefined && keepsTexts(other)) await body(store, other, pass);
    } finally {
      await store.close?.();
      if (needsSharing) await other?.close?.();
    }
  };
  return { name, needsSharing, run };
}

function keepsTexts(store: StateStore): store is StateStore & Texts {
  return store.append !== undefined && store.slice !== undefined;
}

const PARTS = ['data: "one"\n\n', 'Grüße 👋\n\n', '\u0000', 'x'.repeat(70_000)];
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** The checks of texts that grow. */
export const textChecks: readonly StateStoreCheck[] = [
  textCheck('adds to a text, and gives any part of it', async (store) => {
    expectSame(await store.slice('text', 0), '', 'a text that is not there');
    let all = '';
    for (const part of [...PARTS, ...PARTS]) {
      expectSame(await store.append('text', part, bytesOf(all), LONG_MS), true, 'whether it was added');
      all += part;
      expectSame(await store.slice('text', 0), all, 'the text');
      expectSame(await store.slice('text', bytesOf(all) - bytesOf(part)), part, 'its last part');
    }
    const [first = ''] = PARTS;
    expectSame(await store.slice('text', 0, first.length), first, 'its first part');
    expectSame(await store.slice('text', 6, 11), '"one"', 'a part in the middle');
    expectSame(await store.slice('text', 3, 3), '', 'no bytes of it');
    expectSame(await store.slice('text', bytesOf(all) + 5), '', 'what is behind it');
    // "Grü", of which the last has two bytes.
    expectSame(
      await store.slice('text', first.length + 3),
      `\uFFFD${all.slice(first.length + 3)}`,
      'half of a character',
    );
    await store.delete('text');
    expectSame(await store.slice('text', 0), '', 'a text that was deleted');
  }),

  textCheck('adds at the end only, and what is there already once', async (store) => {
    expectSame(await store.append('text', 'one', 3, LONG_MS), false, 'behind the end of nothing');
    expectSame(await store.append('text', 'one', 0, LONG_MS), true, 'the first part');
    expectSame(await store.append('text', 'two', 3, LONG_MS), true, 'the second part');
    expectSame(await store.append('text', 'two', 3, LONG_MS), true, 'the second part once more');
    expectSame(await store.append('text', 'TWO', 3, LONG_MS), false, 'another part in its place');
    expectSame(await store.append('text', 'twofold', 3, LONG_MS), false, 'more than is there');
    expectSame(await store.append('text', 'three', 7, LONG_MS), false, 'behind its end');
    expectSame(await store.slice('text', 0), 'onetwo', 'the text');
  }),

  textCheck('forgets a text after the time of its last part', async (store, _, pass) => {
    await store.append('text', 'one', 0, 40);
    await store.append('text', 'two', 3, LONG_MS);
    await store.append('short', 'one', 0, 40);
    await pass(60);
    expectSame([await store.slice('text', 0), await store.slice('short', 0)], ['onetwo', ''], 'the texts');
  }),

  textCheck(
    'lets one of several writers add at a place',
    async (store, other) => {
      await store.append('text', 'begin', 0, LONG_MS);
      const added = await Promise.all(
        Array.from({ length: 40 }, async (_, index) =>
          (index % 2 === 0 ? store : other).append('text', `writer ${index}`, 5, LONG_MS),
        ),
      );
      expectSame(added.filter(Boolean).length, 1, 'how many have added');
      expectSame(await store.slice('text', 5), `writer ${added.indexOf(true)}`, 'what was added');
    },
    { needsSharing: true },
  ),
];
