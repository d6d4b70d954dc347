/** What a rule of a strict upstream is made of, and what it reads. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';

/** Family of chat templates that a server of open models renders a conversation with. */
export type ChatTemplate = 'qwen' | 'mistral' | 'deepseek' | 'llama';

/** A request as the rules read it. */
export interface StrictRequest {
  /** The body; an empty object where it is no JSON object. */
  readonly body: JsonObject;
  /** Path of the request, with its query. */
  readonly path: string;
  /** Model that the request names, in the body or the path. */
  readonly model: string;
  /** Characters of the body. */
  readonly length: number;
  /** Template of the model, where the server renders one. */
  readonly template: ChatTemplate;
  /** Tokens that fit into the context window of the model. */
  readonly contextTokens: number;
}

/** What breaks a rule: values for the words of the error that are in braces. */
export type Finding = Readonly<Record<string, string | number>>;

/** One thing that a provider refuses. */
export interface StrictRule {
  /** Name of the vendor or server, and of the rule: `openai/image-outside-user`. */
  readonly id: string;
  /** What is refused, as a sentence without its subject. */
  readonly checks: string;
  /** HTTP status of the refusal. Default 400. */
  readonly status?: number;
  /** Message of the error. A name in braces is a value of the {@link Finding}. */
  readonly words: string;
  /** Code of the error, where the vendor gives one; braces as in `words`. */
  readonly code?: string | number;
  /** Parameter that the error names, where the vendor names one; braces as in `words`. */
  readonly param?: string;
  /** Kind of the error, where it is not the one that the vendor gives to all of them. */
  readonly type?: string;
  /** Public document or report that shows the refusal: a title, or a repository and the number of its issue. */
  readonly source: string;
  /** Day or month of that document or report. */
  readonly date: string;
  /** The first thing in a request that breaks the rule; undefined where nothing does. */
  find(request: StrictRequest): Finding | undefined;
}

/** An error as the vendor's envelope takes it. */
export interface StrictError {
  readonly rule: string;
  readonly status: number;
  readonly message: string;
  readonly code: string | number | undefined;
  readonly param: string | undefined;
  readonly type: string | undefined;
}

/** A value of a body as text: the items of a list with commas between them, an object as JSON. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(',');
  return isJsonObject(value) ? JSON.stringify(value) : String(value);
}

/** Writes the error of a rule. */
export function errorByRule(rule: StrictRule, finding: Finding): StrictError {
  return {
    rule: rule.id,
    status: rule.status ?? 400,
    message: filled(rule.words, finding),
    code: typeof rule.code === 'string' ? filled(rule.code, finding) || undefined : rule.code,
    param: rule.param === undefined ? undefined : filled(rule.param, finding),
    type: rule.type,
  };
}

function filled(words: string, finding: Finding): string {
  return words.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(finding[name] ?? whole));
}
