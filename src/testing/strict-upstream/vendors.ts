/** Every vendor that a strict upstream can be: its APIs, their rules, and how it writes an error. */
import { type AnswerWire, CHAT_ANSWERS, GEMINI_ANSWERS, MESSAGES_ANSWERS, RESPONSES_ANSWERS } from './answers.ts';
import { ANTHROPIC_MESSAGE_RULES } from './anthropic-messages.ts';
import { ANTHROPIC_PARAMETER_RULES } from './anthropic-parameters.ts';
import { DEEPSEEK_RULES } from './deepseek-rules.ts';
import { GOOGLE_CONTENT_RULES } from './google-contents.ts';
import { GOOGLE_PARAMETER_RULES } from './google-parameters.ts';
import { GOOGLE_SCHEMA_RULES } from './google-schemas.ts';
import { GROQ_RULES } from './groq-rules.ts';
import { MISTRAL_RULES } from './mistral-rules.ts';
import { OPENAI_MESSAGE_RULES } from './openai-chat.ts';
import { OPENAI_PARAMETER_RULES } from './openai-parameters.ts';
import { OPENAI_RESPONSES_RULES } from './openai-responses.ts';
import { OPENAI_SCHEMA_RULES } from './openai-schemas.ts';
import type { StrictError, StrictRule } from './rule.ts';
import { LLAMA_CPP_RULES, LM_STUDIO_RULES, OLLAMA_RULES, SGLANG_RULES, VLLM_RULES } from './server-rules.ts';
import { TEMPLATE_RULES } from './template-rules.ts';
import { XAI_RULES } from './xai-rules.ts';

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

/** A vendor that has chat completions and nothing else that is checked. */
function chatVendor(
  rules: readonly StrictRule[],
  errorBody: StrictVendorFacts['errorBody'] = openaiError,
): StrictVendorFacts {
  return { apis: [{ path: CHAT_PATH, rules, answers: CHAT_ANSWERS }], errorBody };
}

/** A server that renders a chat template. */
function templateServer(rules: readonly StrictRule[], errorBody: StrictVendorFacts['errorBody']): StrictVendorFacts {
  return chatVendor([...rules, ...TEMPLATE_RULES], errorBody);
}

/** Validation of pydantic, with its status 422, is in a list of details; everything else is flat. */
function mistralError({ message, status, type = 'invalid_request_error', param, code }: StrictError): unknown {
  if (status !== 422) return { object: 'error', message, type, param: null, code: code ?? null };
  const [loc, text] = [param ?? 'body', message.split(': ').slice(1).join(': ')];
  const detail = [{ type, loc: loc.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step)), msg: text }];
  return { object: 'error', message: { detail }, type: 'invalid_request_error', param: null, code: null };
}

/** How llama.cpp reports an exception of a template. */
function llamaCppError({ message, type, status }: StrictError): unknown {
  const jinja =
    'Unable to generate parser for this template. Automatic parser generation failed: \n------------\nWhile executing CallExpression in source:\nError: Jinja Exception: ';
  const raised = type === 'template';
  return {
    error: {
      code: status,
      message: raised ? `${jinja}${message}` : message,
      type: raised || type === undefined ? 'invalid_request_error' : type,
    },
  };
}

/** How LM Studio reports an exception of a template. */
function lmStudioError({ message, type }: StrictError): unknown {
  if (type !== 'template') return { error: message };
  return {
    error: `Error rendering prompt with jinja template: "${message}".\n\nThis is usually an issue with the model's prompt template.`,
  };
}

const GOOGLE_STATUSES: Readonly<Record<number, string>> = { 400: 'INVALID_ARGUMENT', 404: 'NOT_FOUND' };

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
  anthropic: {
    apis: [
      {
        path: /\/messages(?:\?|$)/,
        rules: [...ANTHROPIC_PARAMETER_RULES, ...ANTHROPIC_MESSAGE_RULES],
        answers: MESSAGES_ANSWERS,
      },
    ],
    errorBody: ({ message, type, rule }) => ({
      type: 'error',
      error: { type: type ?? 'invalid_request_error', message },
      request_id: `req_${rule.replaceAll(/\W/g, '')}`,
    }),
  },
  google: {
    apis: [
      {
        path: /:(?:generateContent|streamGenerateContent)(?:\?|$)/,
        rules: [...GOOGLE_PARAMETER_RULES, ...GOOGLE_SCHEMA_RULES, ...GOOGLE_CONTENT_RULES],
        answers: GEMINI_ANSWERS,
      },
    ],
    errorBody: ({ message, status }) => ({
      error: { code: status, message, status: GOOGLE_STATUSES[status] ?? 'UNKNOWN' },
    }),
  },
  mistral: chatVendor(MISTRAL_RULES, mistralError),
  deepseek: chatVendor(DEEPSEEK_RULES, ({ message, type = 'invalid_request_error' }) => ({
    error: { message, type, param: null, code: 'invalid_request_error' },
  })),
  xai: chatVendor(XAI_RULES, ({ message }) => ({ code: 'Client specified an invalid argument', error: message })),
  groq: chatVendor(GROQ_RULES, ({ message, code, param }) => ({
    error: { message, type: 'invalid_request_error', ...(param && { param }), ...(code !== undefined && { code }) },
  })),
  vllm: templateServer(VLLM_RULES, ({ message, status }) => ({
    error: { message, type: 'BadRequestError', param: null, code: status },
  })),
  sglang: templateServer(SGLANG_RULES, ({ message, status }) => ({
    object: 'error',
    message,
    type: 'BadRequest',
    param: null,
    code: status,
  })),
  'llama.cpp': templateServer(LLAMA_CPP_RULES, llamaCppError),
  ollama: templateServer(OLLAMA_RULES, ({ message, type }) => ({
    error: { message, type: type === 'template' ? 'api_error' : 'invalid_request_error', param: null, code: null },
  })),
  lmstudio: templateServer(LM_STUDIO_RULES, lmStudioError),
} as const satisfies Readonly<Record<string, StrictVendorFacts>>;

/** A vendor, or a server of open models, that a strict upstream can be. */
export type StrictVendor = keyof typeof STRICT_VENDORS;
