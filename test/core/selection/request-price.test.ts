import { describe, expect, it } from 'vitest';
import type { Price } from '../../../src/catalog/price.ts';
import type { ProviderPreferences } from '../../../src/protocol/provider-preferences.ts';
import { reasonsOf, serving } from '../../support/requests.ts';

/** Requests of these tests are made at this time. */
const CREATED = 1_700_000_000;

const LONG = { messages: [{ role: 'user' as const, content: 'word '.repeat(2_000) }] };

/** Cheap for short prompts and dear for long ones, and the reverse. */
const scene = serving({
  short: { price: { prompt: 1, completion: 1, above: [{ promptTokens: 1_000, prompt: 9, completion: 9 }] } },
  long: { price: { prompt: 4, completion: 4, above: [{ promptTokens: 1_000, prompt: 2, completion: 2 }] } },
});

function changing(from: number, before: Price, after: Price): Price {
  return { ...before, changes: [{ from, price: after }] };
}

describe('prices that depend on the length of the prompt', () => {
  it.each([{ sort: 'price' } satisfies ProviderPreferences, {}])('decide the order for %j', (provider) => {
    expect(scene.order({ provider }, { roll: 0 })).toEqual(['short', 'long']);
    expect(scene.order({ provider, ...LONG }, { roll: 0 })).toEqual(['long', 'short']);
  });

  it('decide the order behind :floor', () => {
    expect(scene.order({ model: 'acme/one:floor', ...LONG })).toEqual(['long', 'short']);
  });

  it('are what max_price looks at', () => {
    const provider = { max_price: { prompt: 3 } };
    expect(reasonsOf(scene.plan({ provider }))).toEqual({ long: 'max_price' });
    expect(reasonsOf(scene.plan({ provider, ...LONG }))).toEqual({ short: 'max_price' });
  });
});

describe('prices that change with time', () => {
  const cheap: Price = { prompt: 1, completion: 1 };
  const dear: Price = { prompt: 5, completion: 5 };

  it('are compared as they are when the request comes', () => {
    const changed = serving({
      rising: { price: changing(CREATED, cheap, dear) },
      falling: { price: changing(CREATED, dear, cheap) },
      later: { price: changing(CREATED + 1, { prompt: 2, completion: 2 }, { prompt: 9, completion: 9 }) },
    });
    expect(changed.order({ provider: { sort: 'price' } })).toEqual(['falling', 'later', 'rising']);
    expect(reasonsOf(changed.plan({ provider: { max_price: { prompt: 4 } } }))).toEqual({ rising: 'max_price' });
  });
});

describe('max_price.audio', () => {
  it('is in US dollars per audio token, and text is the price of sound that has none', () => {
    const price: Price = { prompt: 2, completion: 2 };
    const heard = serving({
      priced: { price: { ...price, audioPrompt: 40 }, inputModalities: ['text', 'audio'] },
      unpriced: { price, inputModalities: ['text', 'audio'] },
      deaf: { price, inputModalities: ['text'] },
    });
    const rejected = (audio: number): readonly string[] =>
      Object.keys(reasonsOf(heard.plan({ provider: { max_price: { audio } } })));
    expect(rejected(0.00004)).toEqual([]);
    expect(rejected(0.000039)).toEqual(['priced']);
    expect(rejected(0.000001)).toEqual(['priced', 'unpriced']);
  });
});
