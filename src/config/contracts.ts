import { option } from './option.ts';
import { SPLIT } from './tables/rules.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import { groupOf, kindOf } from '../platform/kind-of.ts';
import { callTimeouts, modelTable } from '../catalog/model-options.ts';
import { callable, flag, having, listOf, text } from '../platform/option-kinds.ts';

/** Checks of what programs bring themselves, beyond a list of functions. */

/** What the router needs of a provider; a provider may have more for itself. */
export const providerCheck = having(
  'a provider, such as openai() makes one',
  { slug: text, models: modelTable, chat: callable },
  {
    name: text,
    embed: callable,
    check: callable,
    close: callable,
    dataCollection: flag,
    zeroDataRetention: flag,
    timeouts: callTimeouts,
  },
);

/** What the router needs of a plugin. */
export const pluginCheck = having(
  'a plugin',
  { id: text, whenItThrows: text },
  {
    parseOptions: callable,
    models: listOf(text),
    runsUnasked: callable,
    onRequest: callable,
    onCandidates: callable,
    onAttempt: callable,
    onChunks: callable,
    onResult: callable,
    close: callable,
  },
);

/** What the router needs of a server tool. */
export const serverToolCheck = having(
  'a server tool',
  { type: text, describe: callable, execute: callable },
  {
    parseOptions: callable,
    native: callable,
    nameOf: callable,
    innerTools: callable,
    maxUses: callable,
    close: callable,
  },
);

const aliasModels = kindOf(option.either(option.text(), option.list(option.text())));
const aliasSplit = groupOf(SPLIT);

/** An alias is told apart by its form, so that what is wrong is said of the form that was meant. */
export function* aliasCheck(value: unknown, path: string): Generator<ConfigProblem> {
  const isSplit = typeof value === 'object' && value !== null && 'split' in value;
  yield* isSplit ? aliasSplit(value, path) : aliasModels(value, path);
  if (!isSplit || !Array.isArray(value.split)) return;
  const weights = value.split.map((share: unknown) => Number((share as { weight?: unknown } | null)?.weight));
  if (weights.every((weight) => !(weight > 0)))
    yield { path: `${path}.split`, problem: 'must give some model a weight above 0' };
}
