/** `createRouter` of the entry point `signalbox`, with all plugins and tools by default. */
import type { Alias } from '../options/rules.ts';
import type { Provider } from '../contracts/provider.ts';
import type { DefaultLists } from '../config/resolve-config.ts';
import { defaultPlugins, defaultServerTools } from '../plugins/defaults.ts';
import { providersFromEnvironment } from '../providers/from-environment.ts';
import { simulated } from '../providers/simulated/provider.ts';
import { type ConfigWith, type RouterFor, routerWith } from './create-router.ts';

/** What `signalbox` takes where a configuration names nothing; `signalbox/minimal` takes nothing. */
const DEFAULTS: DefaultLists = {
  providers: providersFromEnvironment,
  simulated: (environment) => simulated({ environment }),
  plugins: defaultPlugins,
  serverTools: defaultServerTools,
};

/**
 * Makes a router from its providers and options. Without any, the keys in the environment decide which providers there
 * are; with no keys either, answers are simulated.
 *
 * @example
 * ```ts
 * const router = createRouter({ providers: [openai(), groq()] });
 * const answer = await router.chat({ model: 'openai/gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] });
 * ```
 * @throws {@link ConfigError} with everything that is wrong with the options at once.
 */
export function createRouter<
  const Providers extends readonly Provider[] = readonly Provider[],
  const Aliases extends Readonly<Record<string, Alias>> = {},
>(config: ConfigWith<Providers, Aliases> = {}): RouterFor<Providers, Aliases> {
  return routerWith(DEFAULTS, config);
}
