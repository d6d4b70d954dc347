/** Resolves model slugs to the models of the catalog that may answer. */
import { type Catalog, latestOfFamily } from '../../catalog/catalog.ts';
import { splitVariants } from '../../catalog/slug.ts';
import { type Checked, failed, passed, type RequestFault, shortened } from '../../protocol/fault.ts';
import type { Availability, AvailabilityCode } from '../../protocol/error.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';
import type { Mirror, Split } from '../../options/rules.ts';
import type { ModelTarget, SplitChoice } from '../../contracts/request.ts';
import type { RequestRules } from './rules.ts';
import { hintForModel } from './unknown-model.ts';
import { chooseShare } from './split.ts';
import type { Operation } from '../../catalog/model.ts';
import { serves } from '../../catalog/endpoint.ts';

/** Targets of a request and whether one of them requested web search. */
interface ResolvedTargets {
  readonly targets: readonly ModelTarget[];
  /** True when a slug ended in `:online`. */
  readonly online: boolean;
}

/** A slug and where in the body it stood. */
export interface RequestedModel {
  readonly slug: string;
  readonly path: string;
}

/** Everything that resolving a slug may look at. */
export interface TargetContext {
  readonly catalog: Catalog;
  /** Router models that a plugin resolves, such as `router/auto`. */
  readonly routerModels: ReadonlySet<string>;
  readonly docsUrl: string;
  /** True for a request of a batch, which endpoints of the variant `:batch` serve. Default false. */
  readonly batch?: boolean | undefined;
  /** Rules that rewrite models. Default: none. */
  readonly rules?: RequestRules | undefined;
  /** The key by which an alias divides its requests. Default: none, and the first share is taken. */
  readonly splitKey?: ((by: SplitChoice['by']) => string) | undefined;
  /** The model that a divided alias led to before, which stays while it has a share. Default: none. */
  readonly keptModel?: ((alias: string, by: SplitChoice['by']) => string | undefined) | undefined;
  /** Called with every choice that an alias made. */
  readonly onSplit?: ((choice: SplitChoice) => void) | undefined;
  /** Called with every alias whose requests are copied, and of the name as it was sent that led there. */
  readonly onMirror?: ((alias: string, mirror: Mirror, requested: string) => void) | undefined;
  /** True when models stand for their `-pro` editions (gaps 2.5, `reasoning.mode`). Default false. */
  readonly pro?: boolean | undefined;
}

/** An alias may name another alias; this deep at most. */
const MAX_ALIAS_DEPTH = 4;

/**
 * Finds the models that a request may be answered by, in order and without repetition (gaps 3.6, 4.2).
 * An unknown model is a 400, also among the fallbacks: it is a mistake that would otherwise show only in an outage.
 */
export function resolveTargets(models: readonly RequestedModel[], context: TargetContext): Checked<ResolvedTargets> {
  const targets: ModelTarget[] = [];
  let online = false;
  for (const { slug, path } of models) {
    const resolved = resolveVariants(slug, slug, 0, context);
    if (!resolved.ok) return failed({ ...resolved.fault, path });
    online ||= resolved.value.online;
    const meant =
      context.pro === true ? resolved.value.targets.map((one) => proEdition(one, context)) : resolved.value.targets;
    for (const target of meant) {
      if (target === undefined) return failed(noPro(slug, context));
      if (targets.some((known) => known.model === target.model && known.sort === target.sort)) continue;
      targets.push(target);
    }
  }
  return passed({ targets, online });
}

/**
 * The models of a chat request, all of which serve chat.
 *
 * What a slug means depends on the configuration alone, so it is looked up once; of models that nobody declared the
 * catalog itself remembers only some.
 */
export function chatTargets(models: readonly RequestedModel[], context: TargetContext): Checked<ResolvedTargets> {
  const [only] = models;
  const { batch, pro, rules, splitKey } = context;
  const isPlain = batch !== true && pro !== true && rules === undefined && splitKey === undefined;
  const key = isPlain && models.length === 1 ? only?.slug : undefined;
  const known = key === undefined ? undefined : knownTargets(context.catalog, key);
  if (known !== undefined) return known;
  const resolved = resolveTargets(models, context);
  if (!resolved.ok) return resolved;
  const { targets } = resolved.value;
  const wrong = checkOperation(targets, 'chat', models, context);
  if (wrong !== undefined) return failed(wrong);
  if (key !== undefined && targets.every(({ model }) => context.catalog.models.has(model))) {
    remember(context.catalog, key, resolved);
  }
  return resolved;
}

/** What a slug means for a request that says nothing more of models; undefined where it was not looked up before. */
export function knownTargets(catalog: Catalog, slug: string): Meaning | undefined {
  return MEANINGS.get(catalog)?.get(slug);
}

/** What slugs mean in a catalog, which never changes. */
const MEANINGS = new WeakMap<Catalog, Map<string, Meaning>>();

/** What was found of a slug that means something. */
export type Meaning = Checked<ResolvedTargets> & { readonly ok: true };

/** Slugs with variants are many, so that only some are kept. */
const MOST_MEANINGS = 2_000;

function remember(catalog: Catalog, slug: string, meaning: Meaning): void {
  let meanings = MEANINGS.get(catalog);
  if (meanings === undefined || meanings.size >= MOST_MEANINGS) {
    meanings = new Map();
    MEANINGS.set(catalog, meanings);
  }
  meanings.set(slug, meaning);
}

/** Resolves a slug with its variants; those at the slug win over those behind an alias. */
function resolveVariants(
  name: string,
  requested: string,
  depth: number,
  context: TargetContext,
): Checked<ResolvedTargets> {
  const { slug, sort, admitTier, online } = splitVariants(name);
  const resolved = resolveRewritten(slug, requested, depth, context);
  if (!resolved.ok) return resolved;
  return passed({
    online: online || resolved.value.online,
    targets: resolved.value.targets.map((target) => ({
      ...target,
      sort: sort ?? target.sort,
      admitTier: admitTier ?? target.admitTier,
    })),
  });
}

/** Resolves what rules have made of a slug. */
function resolveRewritten(
  slug: string,
  requested: string,
  depth: number,
  context: TargetContext,
): Checked<ResolvedTargets> {
  const names = context.rules?.rewrite(slug) ?? [slug];
  const [first = slug] = names;
  if (names.length === 1) return resolveSlug(neutralSlug(first, context), requested, depth, context);
  return resolveAlias(names, requested, depth, { ...context, rules: undefined });
}

/** `openrouter/auto` and `router/auto` are the same model, except where a provider of that name has its own. */
function neutralSlug(slug: string, { catalog, routerModels }: TargetContext): string {
  if (!slug.startsWith('openrouter/')) return slug;
  const neutral = slug.slice('open'.length);
  const isOurs = neutral === 'router/free' || routerModels.has(neutral);
  return isOurs || catalog.find(slug) === undefined ? neutral : slug;
}

function resolveSlug(slug: string, requested: string, depth: number, context: TargetContext): Checked<ResolvedTargets> {
  const { catalog } = context;
  if (slug === 'router/free') return single(freeTarget(requested, catalog));
  if (context.routerModels.has(slug)) return single(routerTarget(slug, requested));
  if (slug.startsWith('~')) return resolveLatest(slug, requested, context);
  const alias = catalog.alias(slug);
  if (alias !== undefined && depth < MAX_ALIAS_DEPTH) {
    if ('mirror' in alias) context.onMirror?.(slug, alias.mirror, requested);
    const models =
      'split' in alias ? chosenModels(slug, alias, context) : 'mirror' in alias ? [alias.model].flat() : alias;
    return resolveAlias(models, requested, depth, context);
  }
  if (context.batch === true) return resolveBatched(slug, requested, context);
  const model = catalog.find(slug);
  if (model === undefined && !catalog.models.has(`${slug}${BATCH}`)) {
    return failed(unknownModel(slug, requested, context));
  }
  if (model === undefined || model.endsWith(BATCH)) return failed(batchOnly(requested, context));
  return single(modelTarget(model, requested, model === slug ? 'direct' : 'alias', catalog));
}

const BATCH = ':batch';

/** In a batch, a model means its endpoints for batches, and after them its ordinary ones (gaps 3.6, 8.2). */
function resolveBatched(slug: string, requested: string, context: TargetContext): Checked<ResolvedTargets> {
  const { catalog } = context;
  const name = slug.endsWith(BATCH) ? slug.slice(0, -BATCH.length) : slug;
  const model = catalog.find(name);
  const variant = `${model ?? name}${BATCH}`;
  const models = [catalog.models.has(variant) ? variant : undefined, model].filter((one) => one !== undefined);
  if (models.length === 0) return failed(unknownModel(slug, requested, context));
  const targets = models.map((one) => modelTarget(one, requested, 'direct', catalog));
  const served = targets.filter(({ endpoints }) => endpoints.length > 0);
  return passed({ targets: served.length > 0 ? served : targets, online: false });
}

/** The `-pro` edition of a model, or undefined where nobody serves one. Router models choose by themselves. */
function proEdition(target: ModelTarget, { catalog }: TargetContext): ModelTarget | undefined {
  const [name = '', ...variants] = target.model.split(':');
  if (target.router !== undefined || target.shuffled === true || name.endsWith('-pro')) return target;
  // What nobody declared may be known to its provider, which is told the mode.
  if (!catalog.models.has(target.model)) return target;
  const model = [`${name}-pro`, ...variants].join(':');
  return catalog.models.has(model) ? { ...target, model, endpoints: catalog.endpoints(model) } : undefined;
}

function noPro(slug: string, context: TargetContext): RequestFault {
  const message = `reasoning.mode "pro" needs the -pro edition of ${shortened(slug)}, which no provider of this router serves`;
  return { ...targetFault('model_not_found', message, slug, context), path: 'reasoning.mode' };
}

/** The model that an alias with shares leads to in this request. */
function chosenModels(alias: string, split: Split, { splitKey, keptModel, onSplit }: TargetContext): readonly string[] {
  const by = split.by ?? 'session';
  const kept = keptModel?.(alias, by);
  const share =
    split.split.find(({ model, weight }) => model === kept && weight > 0) ??
    (splitKey === undefined ? split.split[0] : chooseShare(alias, split, splitKey(by)));
  if (share === undefined) return [];
  onSplit?.({ alias, model: share.model, by });
  return [share.model];
}

function single(target: ModelTarget): Checked<ResolvedTargets> {
  return passed({ targets: [target], online: false });
}

function resolveAlias(
  names: readonly string[],
  requested: string,
  depth: number,
  context: TargetContext,
): Checked<ResolvedTargets> {
  const targets: ModelTarget[] = [];
  let online = false;
  for (const name of names) {
    const resolved = resolveVariants(name, requested, depth + 1, context);
    if (!resolved.ok) return resolved;
    online ||= resolved.value.online;
    for (const target of resolved.value.targets) targets.push({ ...target, strategy: 'alias' });
  }
  return passed({ targets, online });
}

function resolveLatest(slug: string, requested: string, context: TargetContext): Checked<ResolvedTargets> {
  const model = latestOfFamily(context.catalog, slug);
  return model === undefined
    ? failed(unknownModel(slug, requested, context))
    : single(modelTarget(model, requested, 'latest', context.catalog));
}

function modelTarget(model: string, requested: string, strategy: RoutingStrategy, catalog: Catalog): ModelTarget {
  return { requested, model, endpoints: catalog.endpoints(model), strategy };
}

function freeTarget(requested: string, catalog: Catalog): ModelTarget {
  return { requested, model: 'router/free', endpoints: catalog.freeEndpoints, strategy: 'free', shuffled: true };
}

/** A router model has no endpoints of its own: the plugin behind it puts other targets in its place. */
function routerTarget(slug: string, requested: string): ModelTarget {
  return { requested, model: slug, endpoints: [], strategy: 'auto', router: slug };
}

function unknownModel(slug: string, requested: string, context: TargetContext): RequestFault {
  const message = `${shortened(requested)} is not a valid model ID${hintForModel(slug, context.catalog)}`;
  return targetFault('model_not_found', message, requested, context);
}

function batchOnly(requested: string, context: TargetContext): RequestFault {
  return targetFault('wrong_endpoint', `${shortened(requested)} can only be used in batches`, requested, context);
}

/** A fault that is about a model of the request. */
function targetFault(
  code: AvailabilityCode,
  message: string,
  requested: string,
  context: Pick<TargetContext, 'docsUrl'>,
): RequestFault {
  const availability: Availability = {
    code,
    retryable: false,
    requested_models: [requested],
    docs_url: `${context.docsUrl}#${code}`,
  };
  return { status: 400, errorType: 'invalid_request', path: 'model', message, availability };
}

/**
 * Finds a model that nobody serves for this operation at all (gaps 7.4, `wrong_endpoint`). A 400 also among the
 * fallbacks: it is a mistake that would otherwise show only in an outage.
 */
export function checkOperation(
  targets: readonly ModelTarget[],
  operation: Operation,
  models: readonly RequestedModel[],
  context: TargetContext,
): RequestFault | undefined {
  const wrong = targets.find((target) => isWrong(target, operation, context));
  if (wrong === undefined) return undefined;
  const { requested } = wrong;
  const fault = targetFault('wrong_endpoint', sentence(requested, operation), requested, context);
  return { ...fault, path: models.find(({ slug }) => slug === requested)?.path ?? 'model' };
}

function isWrong({ model, strategy, endpoints }: ModelTarget, operation: Operation, context: TargetContext): boolean {
  // Vectors of different models cannot be compared, so a model that somebody else chooses is of no use for them.
  const choosesAnother = strategy === 'free' || context.routerModels.has(model);
  if (choosesAnother) return operation === 'embeddings';
  return endpoints.length > 0 && endpoints.every((endpoint) => serves(endpoint, operation) === 'no');
}

function sentence(requested: string, operation: Operation): string {
  const name = shortened(requested);
  return operation === 'chat'
    ? `${name} only makes embeddings: use POST /embeddings, or a chat model here`
    : `${name} makes no embeddings: use a model whose output_modalities name them (GET /models?output_modalities=embeddings)`;
}
