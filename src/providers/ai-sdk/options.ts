/** The options of `fromAiSdk`. */
import type { CallTimeouts, EndpointDeclaration } from '../../catalog/endpoint.ts';
import { unknown, boolean } from '../../schema/scalars.ts';
import { anyString, callable, group, valueThat, type OptionShape, nonEmptyString } from '../../options/values.ts';
import { checkShape, optionProblems } from '../../platform/check-options.ts';
import { array, record } from '../../schema/collections.ts';
import type { AnySchema } from '../../schema/form.ts';
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';
import type { DownloadFile } from '../guarded-download.ts';
import { type AiSdkUpstream, isLanguageModel, looksLikeModel, problemOfModel, type ProviderOptions } from './model.ts';
import type { AiSdkWarning } from './warnings.ts';
import { headerValue } from '../check-options.ts';
import { callTimeouts, DECLARATION_OPTIONS } from '../../catalog/model-options.ts';

/**
 * How a model of the AI SDK is offered: the model, and what is known about it. What it costs, how much it takes and what
 * it can do is here or nowhere: it is never guessed from the model.
 */
export interface AiSdkDeclaration extends Omit<EndpointDeclaration, 'upstreamModel'> {
  /** Any language model or embedding model of AI SDK 5, 6 or 7. */
  readonly model: AiSdkUpstream;
  /** Makes the model for an account that brings its own key. Default: accounts cannot bring keys for it. */
  readonly modelForKey?: ((apiKey: string) => AiSdkUpstream) | undefined;
  /** Options of the SDK's provider for every call, by its name there. They win over what requests say. */
  readonly providerOptions?: ProviderOptions | undefined;
}

/** Models by their id in this router: a model alone, or a declaration, or a list for several endpoints of one model. */
export type AiSdkModelTable<Model extends string = string> = Readonly<
  Record<Model, AiSdkUpstream | AiSdkDeclaration | readonly (AiSdkUpstream | AiSdkDeclaration)[]>
>;

/** What all models of one {@link fromAiSdk} have in common. */
export interface AiSdkCommonOptions {
  /** Default: the slug. */
  readonly name?: string | undefined;
  /** Headers of every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True when prompts are stored or trained on. Default false. */
  readonly dataCollection?: boolean | undefined;
  /** True when nothing is kept after the answer. Default false. */
  readonly zeroDataRetention?: boolean | undefined;
  /** Time limits of calls, in milliseconds, before those of the router. Default: none of its own. */
  readonly timeouts?: CallTimeouts | undefined;
  /**
   * Fetches files that requests name by address, for models that do not. Default: up to 20 MB from hosts on the public
   * internet. `false`: such requests are not for these models.
   */
  readonly download?: DownloadFile | false | undefined;
  /** Called with every warning that a model gives. Default: warnings are dropped. */
  readonly onWarning?: ((warning: AiSdkWarning) => void) | undefined;
  /** Texts that must never show, such as the keys that the models were made with. Texts like keys never do. */
  readonly secrets?: readonly string[] | undefined;
}

/** Options of {@link fromAiSdk} for a table of models. */
export interface AiSdkOptions<Model extends string = string> extends AiSdkCommonOptions {
  /** Name of the provider in preferences: lower-case letters, digits and dashes. */
  readonly slug: string;
  readonly models: AiSdkModelTable<Model>;
}

/** Options of {@link fromAiSdk} for one model. */
export interface AiSdkModelOptions<Id extends string = string>
  extends AiSdkCommonOptions, Omit<AiSdkDeclaration, 'model' | 'dataCollection' | 'zeroDataRetention' | 'timeouts'> {
  /** Default: the name of the model's provider, up to the first dot. */
  readonly slug?: string | undefined;
  /** Id of the model in this router. Default: the slug, a slash, and the model's own id. */
  readonly id?: Id | undefined;
}

/** A declared model under the name by which its endpoint finds it again. */
interface AiSdkEntry {
  readonly upstreamModel: string;
  readonly declaration: AiSdkDeclaration;
}

const AI_SDK_COMMON_OPTIONS: OptionShape<AiSdkCommonOptions> = {
  name: nonEmptyString,
  headers: record(headerValue),
  dataCollection: boolean,
  zeroDataRetention: boolean,
  timeouts: callTimeouts,
  download: valueThat('a function, or false', (value) => value === false || typeof value === 'function'),
  onWarning: callable,
  secrets: array(nonEmptyString),
};

const { upstreamModel: _upstreamModel, ...declaredKinds } = DECLARATION_OPTIONS;
const ownOfDeclaration = { modelForKey: callable, providerOptions: record(unknown) };

/** What may be said of one model of the AI SDK. Whether it is one is checked by `fromAiSdk`. */
const aiSdkDeclaration: AnySchema = group<AiSdkDeclaration>({
  ...declaredKinds,
  ...ownOfDeclaration,
  model: unknown,
});

/** Options of `fromAiSdk` for a table of models. Slug and models are checked as the table is read. */
const AI_SDK_OPTIONS: OptionShape<AiSdkOptions> = { ...AI_SDK_COMMON_OPTIONS, slug: unknown, models: unknown };

/** Options of `fromAiSdk` for one model. */
const AI_SDK_MODEL_OPTIONS: OptionShape<AiSdkModelOptions> = {
  ...declaredKinds,
  ...ownOfDeclaration,
  ...AI_SDK_COMMON_OPTIONS,
  slug: anyString,
  id: nonEmptyString,
};

/** What is known of a model by itself: an embedding model makes nothing but embeddings. */
export function declaredBy({
  model,
  modelForKey: _,
  providerOptions: __,
  ...declared
}: AiSdkDeclaration): Omit<EndpointDeclaration, 'upstreamModel'> {
  return isLanguageModel(model) ? declared : { outputModalities: ['embeddings'], ...declared };
}

/** The table for one model. */
export function tableOfOne(model: AiSdkUpstream, options: AiSdkModelOptions): AiSdkOptions {
  const problem = problemOfModel(model);
  if (problem !== undefined) throw new ConfigError([{ path: 'fromAiSdk(model)', problem }]);
  checkShape(AI_SDK_MODEL_OPTIONS, options, 'fromAiSdk');
  const {
    slug = slugOf(model),
    id = `${slug}/${model.modelId}`,
    name,
    headers,
    download,
    onWarning,
    secrets,
  } = options;
  const { slug: _slug, id: _id, name: _name, headers: _headers, download: _download, ...rest } = options;
  const { onWarning: _onWarning, secrets: _secrets, ...declaration } = rest;
  return { slug, name, headers, download, onWarning, secrets, models: { [id]: { ...declaration, model } } };
}

/** The name of a model's provider in the form of a slug. */
function slugOf({ provider }: AiSdkUpstream): string {
  const first = provider.split('.')[0] ?? '';
  return (
    first
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'ai-sdk'
  );
}

/**
 * The declarations of a table by model id, with a name for each endpoint.
 *
 * @throws {@link ConfigError} with everything that is wrong with the options.
 */
export function entriesOf(options: AiSdkOptions): ReadonlyMap<string, readonly AiSdkEntry[]> {
  const { slug, models } = options;
  const where = `providers.${slug}`;
  const problems: ConfigProblem[] = [...optionProblems(group(AI_SDK_OPTIONS), options, where)];
  if (typeof slug !== 'string' || !/^[a-z0-9][a-z0-9-]*$/.test(slug)) {
    problems.push({ path: `${where}.slug`, problem: 'must be lower-case letters, digits and dashes' });
  }
  const taken = new Set<string>();
  const entries = Object.entries(models ?? {}).map(([id, declared]) => {
    const list: readonly (AiSdkUpstream | AiSdkDeclaration)[] = Array.isArray(declared) ? declared : [declared];
    const known = list.flatMap((value, index): AiSdkEntry[] => {
      const path = `${where}.models['${id}']${list.length > 1 ? `[${index}]` : ''}`;
      const declaration = declarationOf(value);
      const problem = problemOfModel(declaration?.model ?? value);
      if (declaration !== undefined) problems.push(...optionProblems(aiSdkDeclaration, declaration, path));
      if (problem === undefined && declaration !== undefined) {
        return [{ upstreamModel: uniqueName(declaration.model.modelId, taken), declaration }];
      }
      problems.push({ path: declaration === undefined ? path : `${path}.model`, problem: problem ?? NOT_DECLARED });
      return [];
    });
    return [id, known] as const;
  });
  if (entries.length === 0) problems.push({ path: `${where}.models`, problem: 'must name at least one model' });
  if (problems.length > 0) throw new ConfigError(problems);
  return new Map(entries);
}

const NOT_DECLARED = 'must be a model, or an object with one as its model';

function declarationOf(value: AiSdkUpstream | AiSdkDeclaration): AiSdkDeclaration | undefined {
  if (looksLikeModel(value)) return { model: value };
  return typeof value === 'object' && value !== null && 'model' in value ? value : undefined;
}

/** Several endpoints may call the same model, for example with other credentials. */
function uniqueName(modelId: string, taken: Set<string>): string {
  let unique = modelId;
  for (let copy = 2; taken.has(unique); copy += 1) unique = `${modelId}#${copy}`;
  taken.add(unique);
  return unique;
}
