import { systemEnvironment } from '../../platform/environment.ts';
import type { Provider } from '../../contracts/provider.ts';
import { onFirstUse } from '../codec.ts';
import type { ModelTable } from '../openai-compatible/options.ts';
import { checkSimulatedOptions, SIMULATED_MODELS, type SimulatedModel, type SimulatedOptions } from './options.ts';
import type { Simulation } from './simulation.ts';

/**
 * A provider that calls nobody: it makes up its answers, takes its time over them, and fails as its script says. For
 * trying the router without a key, and for tests. The same seed and messages give the same response, streaming or not.
 *
 * It follows what the request requires as far as the endpoint takes it: token limits, stop sequences, tools, JSON
 * answers, reasoning, prompt caches. Every prose answer says once that it is simulated.
 *
 * @example
 * ```ts
 * const flaky = simulated({ slug: 'flaky', failures: ['ok', { kind: 'rate_limited', retryAfterMs: 2_000 }] });
 * const router = createRouter({ providers: [flaky, simulated({ slug: 'steady', firstTokenMs: 0 })] });
 * ```
 * @throws {@link ConfigError} when an option cannot be right.
 */
export function simulated<const Model extends string = SimulatedModel>(
  options: SimulatedOptions<Model> = {},
): Provider<NoInfer<Model>> {
  checkSimulatedOptions(options);
  const { slug = 'simulated', name = 'Simulated', seed = 1, firstTokenMs = 120, tokensPerSecond = 80 } = options;
  const { environment = systemEnvironment() } = options;
  const models: ModelTable = options.models ?? SIMULATED_MODELS;
  const simulation = onFirstUse(async () => {
    const { Simulation } = await import('./simulation.ts');
    return new Simulation(options, { seed, firstTokenMs, tokensPerSecond, environment });
  });
  let used: Simulation | undefined;

  async function loaded(): Promise<Simulation> {
    used = await simulation.load();
    return used;
  }

  return {
    slug,
    name,
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    chat: async (call) => (await loaded()).chat(call),
    embed: async (call) => (await loaded()).embed(call),
    close() {
      used?.close();
      return Promise.resolve();
    },
  };
}
