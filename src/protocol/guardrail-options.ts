/** The options of guardrails, and their schema. */
import { nullish, refine } from '../schema/modifiers.ts';
import { discriminatedUnion } from '../schema/choices.ts';
import { array } from '../schema/collections.ts';
import { literal, string, enumeration } from '../schema/scalars.ts';
import { closed, identifier } from './fields.ts';
import { type OptionsParser, optionsParser } from './options.ts';

/** What a guardrail does with what it finds: note it, take it out, or refuse the request. */
export type GuardrailAction = 'flag' | 'redact' | 'block';

/** Personal data of guardrails, under the names of their placeholders (gaps 7.4). */
export const PII_KINDS = ['EMAIL', 'PHONE', 'CREDIT_CARD', 'IBAN', 'IP_ADDRESS', 'SSN'] as const;

/** A kind of personal data. */
export type PiiKind = (typeof PII_KINDS)[number];

interface GuardrailBasics {
  /** Name in `router_metadata.pipeline`. */
  readonly id: string;
  /** Whose rule it is, for example `api-key`. Default: `router`, or `account` for one of an account. */
  readonly scope?: string | undefined;
  readonly action: GuardrailAction;
  /** What is looked at: requests, non-streaming responses, or both. Default `request`. */
  readonly on?: 'request' | 'response' | 'both' | undefined;
}

/** Finds attempts to talk a model out of its instructions, in what users and tools say. */
export interface InjectionGuardrail extends GuardrailBasics {
  readonly type: 'prompt-injection';
  /** Phrases besides the built-in ones, written like {@link ContentGuardrail.patterns}. */
  readonly patterns?: readonly string[] | undefined;
}

/** Finds personal data. */
export interface PiiGuardrail extends GuardrailBasics {
  readonly type: 'pii';
  /** Default: all of them. */
  readonly kinds?: readonly PiiKind[] | undefined;
}

/** Finds words and phrases of your own. */
export interface ContentGuardrail extends GuardrailBasics {
  readonly type: 'content';
  /** What the words are, for errors and stages, which never show the words themselves. */
  readonly label: string;
  /**
   * Words and phrases, without regard to case, accents and what stands between words. A `*` at the end or the
   * beginning of a word stands for any letters; a `*` alone, after the first word, for any one word.
   */
  readonly patterns: readonly string[];
}

/** One rule of the plugin `guardrails`. */
export type Guardrail = InjectionGuardrail | PiiGuardrail | ContentGuardrail;

const basics = {
  id: identifier(1, 128),
  scope: nullish(identifier(1, 64)),
  action: enumeration(['flag', 'redact', 'block']),
  on: nullish(enumeration(['request', 'response', 'both'])),
};

const pattern = refine(string({ least: 1, most: 256 }), {
  test: (written) => problemOfPattern(written) === undefined,
  says: (written) => problemOfPattern(written) ?? '',
});

const MAX_PATTERNS = 1_000;

const guardrail = discriminatedUnion('type', [
  closed({ type: literal('prompt-injection'), ...basics, patterns: nullish(array(pattern, { most: MAX_PATTERNS })) }),
  closed({ type: literal('pii'), ...basics, kinds: nullish(array(enumeration(PII_KINDS), { least: 1 })) }),
  closed({
    type: literal('content'),
    ...basics,
    label: string({ pattern: [/^[\p{L}\p{N} _-]{1,64}$/u, 'may hold only letters, digits, blanks, "_" and "-"'] }),
    patterns: array(pattern, { least: 1, most: MAX_PATTERNS }),
  }),
]);

/** Options of the plugin `guardrails`, for everybody or for one account. */
export interface GuardrailRequestOptions {
  readonly rules?: readonly Guardrail[] | null | undefined;
}

/** Schema of options of the plugin `guardrails`. */
export const guardrailOptionsSchema = closed({ rules: nullish(array(guardrail, { most: 50 })) });

/** Checks rules of the plugin `guardrails`. */
export const parseGuardrailOptions = optionsParser(guardrailOptionsSchema) as OptionsParser<GuardrailRequestOptions>;

/** What is wrong with a pattern; undefined when nothing is. */
function problemOfPattern(written: string): string | undefined {
  const words = written.trim().split(/\s+/);
  if (!/[\p{L}\p{N}]/u.test(written)) return 'must hold a letter or a digit';
  if (words.length > 16) return 'must have at most 16 words';
  if (words[0] === '*') return 'must not begin with a "*" that stands alone';
  const wrong = words.find((one) => one !== '*' && /^\*.*\*$|.\*./.test(one));
  return wrong === undefined ? undefined : 'may have a "*" only at the beginning or at the end of a word';
}
