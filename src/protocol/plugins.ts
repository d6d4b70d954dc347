/** The field `plugins` of requests, and its schema. */
import type { PluginId } from '../options/names.ts';
import { nullish, refine } from '../schema/modifiers.ts';
import { array } from '../schema/collections.ts';
import { looseObject } from '../schema/object.ts';
import { boolean, string } from '../schema/scalars.ts';
import { MAX_MODEL_PATTERN_LENGTH, MAX_MODEL_PATTERNS, MAX_MODEL_PATTERNS_TOTAL_LENGTH } from './limits.ts';

/** Ids that the contract defines; which of them a router has is up to its program. */
export const CONTRACT_PLUGINS: readonly PluginId[] = [
  'auto-router',
  'auto-beta-router',
  'moderation',
  'web',
  'web-fetch',
  'file-parser',
  'response-healing',
  'context-compression',
  'pareto-router',
  'fusion',
];

/**
 * An entry of `plugins`: the id of a plugin of this router and its options for this request.
 * `enabled: false` switches an account's default off (contract: plugin objects; gaps 5).
 */
export interface PluginEntry {
  /** Id of a plugin. Those that come with the router complete in the editor; your own are taken, too. */
  readonly id: PluginId;
  /** `false` switches a default of the account or the router off. Default true. */
  readonly enabled?: boolean | null | undefined;
  readonly [option: string]: unknown;
}

/** Plugins that other fields of a request stand for: the deprecated `transforms`, and `:online` after a model. */
export const PLUGIN_SHORT_FORMS = { transforms: 'context-compression', online: 'web' } as const;

/** Schema of a {@link PluginEntry}; each plugin checks its own options. */
export const pluginEntrySchema = looseObject({
  id: string({ least: 1, most: 64 }),
  enabled: nullish(boolean),
});

/** A list of model patterns with `*` wildcards, within the contract's three limits. */
export const modelPatternsSchema = refine(
  array(string({ least: 1, most: MAX_MODEL_PATTERN_LENGTH }), { most: MAX_MODEL_PATTERNS }),
  {
    test: (patterns) =>
      patterns.reduce((total, pattern) => total + pattern.length, 0) <= MAX_MODEL_PATTERNS_TOTAL_LENGTH,
    says: `must not hold more than ${MAX_MODEL_PATTERNS_TOTAL_LENGTH} characters in total`,
  },
);
