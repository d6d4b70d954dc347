import { definePlugin } from 'signalbox';

/** Options of an entry: `plugins: [{ id: 'by-length', long: 500 }]`. */
export interface ByLengthOptions {
  /** Characters from which a prompt is long. */
  readonly long: number;
}

/** Chooses between two models by the length of the prompt; the other one is the fallback. */
export function byLength(models: { readonly small: string; readonly large: string }) {
  return definePlugin<ByLengthOptions>({
    id: 'by-length',
    models: ['router/by-length'],
    whenItThrows: 'fail',

    parseOptions({ long = 2_000 }) {
      const good = typeof long === 'number' && Number.isInteger(long) && long > 0;
      if (!good) return { ok: false, path: 'long', problem: 'must be a whole number above 0' };
      return { ok: true, options: { long } };
    },

    // Pure and synchronous, so that `router.explain` tells the same order.
    onCandidates(_targets, { messages }, { long }, context) {
      const order =
        JSON.stringify(messages).length < long ? [models.small, models.large] : [models.large, models.small];
      return order.flatMap((model) => context.target(model) ?? []);
    },
  });
}
