/** Every vendor that a strict upstream can be: its APIs, their rules, and how it writes an error. */
import { type AnswerWire, CHAT_ANSWERS, RESPONSES_ANSWERS } from './answers.ts';
import { OPENAI_MESSAGE_RULES } from './openai-chat.ts';
import { OPENAI_PARAMETER_RULES } from './openai-parameters.ts';
import { OPENAI_RESPONSES_RULES } from './openai-responses.ts';
import { OPENAI_SCHEMA_RULES } from './openai-schemas.ts';
import type { StrictError, StrictRule } from './rule.ts';

/** One API of a vendor. */
export interface StrictApi {
  /** Paths that it answers. */
  readonly path: RegExp;
  readonly rules: readonly StrictRule[];
  readonly answers: AnswerWire;
}

/** A vendor, or a server of open models. */
export interface StrictVendorFacts {
  readonly apis: readonly StrictApi[];
  /** Body of an error. */
  errorBody(error: StrictError): unknown;
}

const CHAT_PATH = /\/chat\/completions(?:\?|$)/;

/** The envelope of OpenAI, which others share. */
function openaiError({ message, type, param, code }: StrictError): unknown {
  return { error: { message, type: type ?? 'invalid_request_error', param: param ?? null, code: code ?? null } };
}

/** Vendors and servers by their names. */
export const STRICT_VENDORS = {
  openai: {
    apis: [
      {
        path: CHAT_PATH,
        rules: [...OPENAI_PARAMETER_RULES, ...OPENAI_SCHEMA_RULES, ...OPENAI_MESSAGE_RULES],
        answers: CHAT_ANSWERS,
      },
      {
        path: /\/responses(?:\?|$)/,
        rules: [...OPENAI_PARAMETER_RULES, ...OPENAI_SCHEMA_RULES, ...OPENAI_RESPONSES_RULES],
        answers: RESPONSES_ANSWERS,
      },
    ],
    errorBody: openaiError,
  },
} as const satisfies Readonly<Record<string, StrictVendorFacts>>;

/** A vendor, or a server of open models, that a strict upstream can be. */
export type StrictVendor = keyof typeof STRICT_VENDORS;
