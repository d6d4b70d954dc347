/** The schema of a catalog lock file. */
import { lazy, optional, read } from './accept/schema.ts';
import { union } from './accept/choices.ts';
import type { AnySchema } from './accept/form.ts';
import { array, record } from './accept/collections.ts';
import { stripped } from './accept/object.ts';
import { literal, boolean, integer, number, string, enumeration } from './accept/scalars.ts';
import type { Problem } from './issues.ts';
import { REASONING_EFFORTS } from './reasoning.ts';

/** What is wrong with a catalog lock, or nothing. */
type CheckedLock = { readonly ok: true } | ({ readonly ok: false } & Problem);

const amount = optional(number({ least: 0 }));
const tokens = optional(integer({ least: 1 }));

const rates = {
  prompt: number({ least: 0 }),
  completion: number({ least: 0 }),
  cacheRead: amount,
  cacheWrite: amount,
  cacheWrite1h: amount,
  reasoning: amount,
  audioPrompt: amount,
  imagePrompt: amount,
  videoPrompt: amount,
  audioCompletion: amount,
  imageCompletion: amount,
  request: amount,
  image: amount,
  outputImage: amount,
  webSearch: amount,
};

const someRates = { ...rates, prompt: amount, completion: amount };
const minute = integer({ least: 0, most: 1_439 });
const hours = stripped({ from: minute, to: minute });
const TIERS = ['default', 'priority', 'flex', 'batch'] as const;

/** Prices hold prices: those of other tiers and of other times. */
const price: AnySchema = lazy(() =>
  stripped({
    ...rates,
    above: optional(array(stripped({ ...someRates, promptTokens: number({ least: 0 }) }))),
    serviceTiers: optional(record(union([number({ least: 0 }), price]), TIERS)),
    changes: optional(array(stripped({ from: optional(number()), hours: optional(hours), price }))),
  }),
);

const modality = enumeration(['text', 'image', 'audio', 'video', 'file', 'embeddings']);

const endpoint = stripped({
  price: optional(price),
  contextLength: tokens,
  maxPromptTokens: tokens,
  maxOutputTokens: tokens,
  abilities: optional(record(boolean)),
  inputModalities: optional(array(modality)),
  outputModalities: optional(array(modality)),
  reasoning: optional(
    stripped({ efforts: optional(array(enumeration(REASONING_EFFORTS))), mandatory: optional(boolean) }),
  ),
});

const info = stripped({
  name: optional(string()),
  description: optional(string()),
  created: optional(number()),
  family: optional(string()),
  knowledgeCutoff: optional(string()),
  status: optional(enumeration(['alpha', 'beta', 'deprecated'])),
});

const model = stripped({
  info: optional(info),
  endpoint: optional(endpoint),
  from: record(integer({ least: 0 })),
});

/** Schema of a catalog lock. */
export const lockSchema = stripped({
  version: literal(1),
  origins: array(
    stripped({
      source: string(),
      date: string({ pattern: [/^\d{4}-\d{2}-\d{2}/, 'must begin with YYYY-MM-DD'] }),
      licence: string(),
    }),
  ),
  vendors: record(record(model)),
});

/** Checks that a value has the form of a catalog lock. Members that this version does not know are allowed. */
export function checkCatalogLock(value: unknown): CheckedLock {
  const checked = read(lockSchema, value);
  return checked.ok ? { ok: true } : checked;
}
