/** The schema of a catalog lock file. */
import { lazy, optional } from '../schema/modifiers.ts';
import { read } from './issues.ts';
import { union } from '../schema/choices.ts';
import type { AnySchema } from '../schema/form.ts';
import { array, record } from '../schema/collections.ts';
import { object } from '../schema/object.ts';
import { literal, boolean, integer, number, string, enumeration } from '../schema/scalars.ts';
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
const hours = object({ from: minute, to: minute });
const TIERS = ['default', 'priority', 'flex', 'batch'] as const;

/** Prices hold prices: those of other tiers and of other times. */
const price: AnySchema = lazy(() =>
  object({
    ...rates,
    above: optional(array(object({ ...someRates, promptTokens: number({ least: 0 }) }))),
    serviceTiers: optional(record(union([number({ least: 0 }), price]), TIERS)),
    changes: optional(array(object({ from: optional(number()), hours: optional(hours), price }))),
  }),
);

const modality = enumeration(['text', 'image', 'audio', 'video', 'file', 'embeddings']);

const endpoint = object({
  price: optional(price),
  contextLength: tokens,
  maxPromptTokens: tokens,
  maxOutputTokens: tokens,
  abilities: optional(record(boolean)),
  inputModalities: optional(array(modality)),
  outputModalities: optional(array(modality)),
  reasoning: optional(
    object({ efforts: optional(array(enumeration(REASONING_EFFORTS))), mandatory: optional(boolean) }),
  ),
});

const info = object({
  name: optional(string()),
  description: optional(string()),
  created: optional(number()),
  family: optional(string()),
  knowledgeCutoff: optional(string()),
  status: optional(enumeration(['alpha', 'beta', 'deprecated'])),
});

const model = object({
  info: optional(info),
  endpoint: optional(endpoint),
  from: record(integer({ least: 0 })),
});

/** Schema of a catalog lock. */
export const lockSchema = object({
  version: literal(1),
  origins: array(
    object({
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
