/** Finds what is wrong between options that are valid each by itself, for the error at start-up. */
import type { EndpointDeclaration } from '../catalog/endpoint.ts';
import { webhookProblems } from './batches.ts';
import { chatFieldsProblem } from '../protocol/chat-request.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Alias, Rule } from '../options/rules.ts';
import type { Cors } from './router.ts';
import { registryProblems } from '../core/pipeline/registry.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import type { Provider } from '../contracts/provider.ts';
import type { ResolvedConfig } from './resolved-config.ts';

/** What is wrong between options, each of which is of its kind; `known` is what is wrong with those that are not. */
export function* findProblems(config: ResolvedConfig, known: readonly ConfigProblem[]): Generator<ConfigProblem> {
  if (config.providers.length === 0 && !known.some(({ path }) => path.startsWith('providers')))
    yield { path: 'providers', problem: 'must hold at least one provider' };
  const slugs = new Set<string>();
  for (const [index, provider] of config.providers.entries()) {
    const path = `providers[${index}].slug`;
    if (slugs.has(provider.slug)) yield { path, problem: `must be unique, but "${provider.slug}" is there twice` };
    slugs.add(provider.slug);
  }
  yield* embeddingProblems(config.providers);
  yield* registryProblems(config.plugins, config.pluginDefaults, config.serverTools);
  yield* corsProblems(config.cors);
  yield* webhookProblems(config.webhooks);
  yield* aliasLoops(config.aliases);
  yield* ruleProblems(config.rules);
  if (config.limits.bytesInHand < 2 * config.limits.bodyBytes) {
    yield {
      path: 'limits.bytesInHand',
      problem: 'must be at least twice limits.bodyBytes: one account gets half of it',
    };
  }
  if (config.timeouts.totalMs < config.timeouts.firstTokenMs) {
    yield { path: 'timeouts.totalMs', problem: 'must not be shorter than timeouts.firstTokenMs' };
  }
}

/** A model that is declared to make embeddings needs a provider that makes some. */
function* embeddingProblems(providers: readonly Provider[]): Generator<ConfigProblem> {
  for (const [index, provider] of providers.entries()) {
    if (provider.embed !== undefined) continue;
    for (const [model, declared] of Object.entries(provider.models)) {
      const declarations: readonly EndpointDeclaration[] = [declared].flat();
      if (!declarations.some(({ outputModalities }) => outputModalities?.includes('embeddings'))) continue;
      const path = `providers[${index}].models["${model}"].outputModalities`;
      yield { path, problem: 'must not name embeddings, because this provider has no embed function' };
    }
  }
}

function* corsProblems(cors: Cors | undefined): Generator<ConfigProblem> {
  if (cors === undefined || cors.origins === '*') return;
  if (!Array.isArray(cors.origins)) {
    yield { path: 'cors.origins', problem: "must be '*' or a list of origins such as https://app.example.com" };
    return;
  }
  for (const [index, origin] of (cors.origins as readonly unknown[]).entries()) {
    if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin) continue;
    yield {
      path: `cors.origins[${index}]`,
      problem: 'must be an origin such as https://app.example.com, without a path',
    };
  }
}

/** Oldest Node that is tested, as `engines` in package.json has it. */
const OLDEST: readonly [major: number, minor: number] = [22, 19];

/** Says that Node is too old; nothing on runtimes that are not Node or that are new enough. */
export function nodeProblems(version: string | undefined = nodeVersion()): readonly ConfigProblem[] {
  if (version === undefined) return [];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return [];
  return [{ path: 'Node.js', problem: `must be version ${OLDEST.join('.')} or newer, not ${version}` }];
}

/** Bun and Deno say a version of Node too, but have one of their own. */
function nodeVersion(): string | undefined {
  const { process } = globalThis as { process?: { versions?: Readonly<Record<string, string | undefined>> } };
  const { node, bun, deno } = process?.versions ?? {};
  return bun === undefined && deno === undefined ? node : undefined;
}

function modelsOfAlias(alias: Alias): readonly string[] {
  if (typeof alias === 'string') return [alias];
  if ('split' in alias) return alias.split.map(({ model }) => model);
  return 'mirror' in alias ? [alias.model, alias.mirror.model].flat() : alias;
}

/** Preferences are those of requests; and two rules of one name could not be told apart. */
function* ruleProblems(rules: readonly Rule<object>[]): Generator<ConfigProblem> {
  for (const [index, { id, preferences }] of rules.entries()) {
    const wrong = preferences && chatFieldsProblem({ provider: preferences as JsonObject });
    if (wrong !== undefined) {
      yield { path: `rules[${index}].preferences${wrong.path.slice('provider'.length)}`, problem: wrong.problem };
    }
    if (rules.findIndex((rule) => rule.id === id) === index) continue;
    yield { path: `rules[${index}].id`, problem: `must be unique, but "${id}" is there twice` };
  }
}

/** Aliases that lead back to themselves, each loop told once. */
function* aliasLoops(aliases: Readonly<Record<string, Alias>>): Generator<ConfigProblem> {
  const done = new Set<string>();

  function* visit(name: string, trail: readonly string[]): Generator<ConfigProblem> {
    const start = trail.indexOf(name);
    if (start >= 0) {
      const loop = [...trail.slice(start), name].map((one) => JSON.stringify(one)).join(' → ');
      yield { path: `aliases[${JSON.stringify(name)}]`, problem: `must not lead back to itself: ${loop}` };
      return;
    }
    if (done.has(name) || !Object.hasOwn(aliases, name)) return;
    for (const target of modelsOfAlias(aliases[name] ?? [])) yield* visit(target, [...trail, name]);
    done.add(name);
  }

  for (const name of Object.keys(aliases)) yield* visit(name, []);
}
