import type { ParameterName } from '../catalog/model.ts';
import type { ReasoningEffort } from '../protocol/reasoning.ts';
import type { HeldSchemaRules, SchemaRules } from './schema/schema-rules.ts';

/**
 * What a provider accepts, as data. There is one record for each vendor, in a file of its own in `providers/accepts`,
 * with what its model families take differently. No field is optional, so the compiler requires every field of every
 * vendor; a new field is added here, and in what writes requests. Each group of facts names its source and date.
 *
 * Three kinds of facts are elsewhere, because they are needed where no record is: what a vendor has no words for is in the
 * table of parameters (`catalog/lacked-parameters.ts`), by which endpoints are chosen before anything is loaded; what refusals mean is in
 * `core/fallback/vendor-wordings.ts` and `refused-wordings.ts`, because servers pass on the words of others.
 *
 * A record is strict: what it does not name is not sent. It is folded once for each endpoint ({@link acceptsOf}).
 */
export interface Accepts {
  readonly conversation: AcceptedConversation;
  readonly schemas: AcceptedSchemas;
  readonly reasoning: AcceptedReasoning;
  readonly parameters: AcceptedParameters;
  readonly usage: ReportedUsageNames;
}

/** Where the facts of a group are from. */
interface Sourced {
  /** Addresses, or `repository#number` of reports, and when they were read: `docs.example.com/chat, 2026-11`. */
  readonly source: string;
}

/** Kinds of content that are no text. */
export type MediaKind = 'image' | 'audio' | 'video' | 'file';

/** Roles of messages as records know them; `developer` counts as `system`. */
export type MessageRole = 'system' | 'user' | 'assistant' | 'tool';

/** Which conversations it takes. What it does not take is said in another way, without loss (`shapeConversation`). */
export interface AcceptedConversation extends Sourced {
  /**
   * Where system messages may be: `anywhere`; `first`, where one may be at the beginning and others become the user's
   * words where they are; `none`, where the first ones go before the first user turn; `top`, where all of them are beside
   * the conversation; `top-or-between`, where they are there, or behind a turn of the user that the model answers.
   */
  readonly systemTurns: 'anywhere' | 'first' | 'none' | 'top' | 'top-or-between';
  /**
   * `with-user`: a turn of the user must be there, and the model's turns at the end are one. `alternating`: besides, users
   * and model take turns, the user first, so neighbours of one role are joined.
   */
  readonly turns: 'any' | 'with-user' | 'alternating';
  /** How many calls a turn of the model may make: with `one`, others follow in turns of their own, with their results. */
  readonly calls: 'many' | 'one';
  /** What may follow results of tools: with `assistant`, a short turn of the model is put before any other message. */
  readonly afterResults: 'any' | 'assistant';
  /** Whether the content of a role may be a list of parts where all of them are text; otherwise they are joined. */
  readonly lists: Readonly<Record<MessageRole, boolean>>;
  /** Whether the content of a turn with calls may be null; otherwise it is an empty text. */
  readonly nullContent: boolean;
  /** Media that a role may hold. Those of a tool's result follow the neighbouring results in a user message otherwise. */
  readonly media: Readonly<Record<'user' | 'assistant' | 'tool', readonly MediaKind[]>>;
  /** Whether files must have a name. */
  readonly fileNames: 'required' | 'optional';
  /**
   * Whether files may be named by an http(s) address; otherwise they are fetched and sent as data. At Google, otherwise
   * only addresses of its own stores are taken.
   */
  readonly fileAddresses: boolean;
  /**
   * What becomes of an assistant message at the end: it is continued, or taken for a finished turn (`plain`); it is
   * continued if it is marked (`prefix`); it is refused.
   */
  readonly prefill: 'plain' | 'prefix' | 'refused';
  /** Form that ids of tool calls must have. */
  readonly toolIds: 'any' | 'word-characters' | 'at-most-40' | 'nine-alphanumeric';
}

/** Which JSON Schema it takes; what it does not take is rewritten, or becomes part of a description. */
export interface AcceptedSchemas extends Sourced {
  readonly tools: SchemaRules;
  /** Tools with `strict: true`. Undefined: they go as others do, because nothing more is known. */
  readonly strictTools: HeldSchemaRules | undefined;
  /**
   * `response_format` with a schema to which answers are held. Undefined: it goes as it is. `none`: answers cannot be held
   * to a schema, which then goes in another way.
   */
  readonly formats: HeldSchemaRules | 'none' | undefined;
  /** `response_format` with a schema to which answers are not held. */
  readonly looseFormats: SchemaRules;
  /** Whether a form of the answer may be demanded while function tools are offered. */
  readonly formatsWithTools: boolean;
}

/** What of reasoning it takes. */
export interface AcceptedReasoning extends Sourced {
  /** Efforts that may be requested, and the nearest is sent for others; an empty list where none may be. */
  readonly efforts: readonly ReasoningEffort[];
  /** Whether it reasons when nothing is said of it. */
  readonly byDefault: boolean;
  /**
   * How the amount of reasoning is set: by an effort, by a budget of tokens, by either of them; or it cannot be set.
   */
  readonly control: 'effort' | 'budget' | 'either' | 'none';
  /** Fewest and most tokens of a budget that is not zero. Undefined where it takes none. */
  readonly budget: { readonly least: number; readonly most: number } | undefined;
  /**
   * How it is kept from reasoning: by a word or a budget of zero (`disabled`), by a word for answers between calls only
   * (`between_tools`), or by its lowest effort or budget, which may be `none`.
   */
  readonly off: 'disabled' | 'between_tools' | 'lowest';
  /** Highest effort that may be requested while it is kept from reasoning. Undefined: any. */
  readonly mostEffortWhenOff: ReasoningEffort | undefined;
  /** Whether the text of its reasoning is only shown to those who request it. */
  readonly hidden: boolean;
  /**
   * Whether the reasoning of earlier turns goes back, or its signature: `required` where turns with tool calls are refused
   * without it, and a placeholder is sent for those of other models.
   */
  readonly history: 'never' | 'optional' | 'required';
}

/** Which parameters it takes. */
export interface AcceptedParameters extends Sourced {
  /** Parameters that are left out: it refuses them, or has no words for them. */
  readonly refused: readonly ParameterName[];
  /** Those that are left out only in requests that make it reason. */
  readonly refusedWhileReasoning: readonly ParameterName[];
  /** Pairs of which one is taken at a time: the first is sent. */
  readonly exclusive: readonly (readonly [first: ParameterName, second: ParameterName])[];
  /** Highest temperature; higher ones are lowered to it. */
  readonly maxTemperature: number;
  /** Most tokens of an answer; higher limits are lowered to it. Undefined: unknown. */
  readonly maxOutput: number | undefined;
  /** The limit of an answer's tokens where a request names none and the API demands one. Undefined: it demands none. */
  readonly usualOutput: number | undefined;
  /** Whether a tool call can be forced; otherwise the model is instructed to make one. */
  readonly forcedTools: 'always' | 'without-budget' | 'never';
  /** The API that it is called by: `responses` for models that are only there. */
  readonly wire: 'chat' | 'responses';
  /** The API on which function tools work while it reasons: `responses` where chat completions refuse them. */
  readonly toolsWire: 'chat' | 'responses';
}

/** Names in what it reports of tokens. */
export interface ReportedUsageNames extends Sourced {
  /**
   * Names of the count of tokens that were read from its cache, in the usage or in its details of the prompt. The largest
   * counts: servers that know several names give zeros for those they do not mean.
   */
  readonly cachedTokens: readonly string[];
  /** Names of the count of tokens that were written to its cache. */
  readonly cacheWriteTokens: readonly string[];
}

/** What some models of a vendor take differently. */
export interface FamilyAccepts extends Sourced {
  /** Matches the provider's names of the models, in lower case. */
  readonly models: RegExp;
  readonly accepts: Readonly<{ [Group in keyof Accepts]?: Partial<Accepts[Group]> }>;
}

/** What a vendor accepts: of all its models, and what families of them take differently. */
export interface VendorAccepts {
  readonly all: Accepts;
  /** Of those that match a model, the first counts. */
  readonly families: readonly FamilyAccepts[];
}

/**
 * Folds the record of a vendor for one of its models. To be done once for each endpoint.
 *
 * @param otherName - A name of the same model that counts where the first is in no family: deployments have names of their
 * own, which do not say what is behind them. Default: none.
 */
export function acceptsOf({ all, families }: VendorAccepts, upstreamModel: string, otherName?: string): Accepts {
  const named = (model: string): FamilyAccepts | undefined => {
    const name = model.toLowerCase();
    return families.find(({ models }) => models.test(name));
  };
  const family = named(upstreamModel) ?? (otherName === undefined ? undefined : named(otherName));
  return family === undefined ? all : withDifferences(all, family.accepts);
}

/** A record with differences, group by group. */
export function withDifferences(accepts: Accepts, differences: FamilyAccepts['accepts']): Accepts {
  const { conversation, schemas, reasoning, parameters, usage } = accepts;
  return {
    conversation: { ...conversation, ...differences.conversation },
    schemas: { ...schemas, ...differences.schemas },
    reasoning: { ...reasoning, ...differences.reasoning },
    parameters: { ...parameters, ...differences.parameters },
    usage: { ...usage, ...differences.usage },
  };
}
