import * as z from 'zod';
import { describeIssues, type Problem } from './issues.ts';
import { REASONING_EFFORTS } from './reasoning.ts';

/** What is wrong with a catalog lock, or nothing. */
export type CheckedLock = { readonly ok: true } | ({ readonly ok: false } & Problem);

const amount = z.number().min(0).optional();
const tokens = z.number().int().min(1).optional();

const rates = {
  prompt: z.number().min(0),
  completion: z.number().min(0),
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
const minute = z.number().int().min(0).max(1_439);
const hours = z.object({ from: minute, to: minute });
const TIERS = ['default', 'priority', 'flex', 'batch'] as const;

/** Prices hold prices: those of other tiers and of other times. */
const price: z.ZodType = z.lazy(() =>
  z.object({
    ...rates,
    above: z.array(z.object({ ...someRates, promptTokens: z.number().min(0) })).optional(),
    serviceTiers: z.partialRecord(z.enum(TIERS), z.union([z.number().min(0), price])).optional(),
    changes: z.array(z.object({ from: z.number().optional(), hours: hours.optional(), price })).optional(),
  }),
);

const modality = z.enum(['text', 'image', 'audio', 'video', 'file', 'embeddings']);

const endpoint = z.object({
  price: price.optional(),
  contextLength: tokens,
  maxPromptTokens: tokens,
  maxOutputTokens: tokens,
  abilities: z.record(z.string(), z.boolean()).optional(),
  inputModalities: z.array(modality).optional(),
  outputModalities: z.array(modality).optional(),
  reasoning: z
    .object({ efforts: z.array(z.enum(REASONING_EFFORTS)).optional(), mandatory: z.boolean().optional() })
    .optional(),
});

const info = z.object({
  name: z.string().optional(),
  description: z.string().optional(),
  created: z.number().optional(),
  family: z.string().optional(),
  knowledgeCutoff: z.string().optional(),
  status: z.enum(['alpha', 'beta', 'deprecated']).optional(),
});

const model = z.object({
  info: info.optional(),
  endpoint: endpoint.optional(),
  from: z.record(z.string(), z.number().int().min(0)),
});

const lock = z.object({
  version: z.literal(1),
  origins: z.array(
    z.object({
      source: z.string(),
      date: z.string().regex(/^\d{4}-\d{2}-\d{2}/, 'must begin with YYYY-MM-DD'),
      licence: z.string(),
    }),
  ),
  vendors: z.record(z.string(), z.record(z.string(), model)),
});

/** Checks that a value has the form of a catalog lock. Members that this version does not know are allowed. */
export function checkCatalogLock(value: unknown): CheckedLock {
  const { error } = lock.safeParse(value, { reportInput: false });
  return error === undefined ? { ok: true } : { ok: false, ...describeIssues(error.issues, value) };
}
