import { anthropic, hasAnthropicKey } from './anthropic/provider.ts';
import { googleFromEnvironment } from './google/provider.ts';
import { vendorsFromEnvironment } from './openai-compatible/vendors.ts';
import type { Provider } from '../contracts/provider.ts';

/**
 * The providers whose keys are in the environment. Servers without keys are left out, since nothing says that they
 * are there.
 */
export function providersFromEnvironment(): readonly Provider[] {
  return [...vendorsFromEnvironment(), ...(hasAnthropicKey() ? [anthropic()] : []), ...googleFromEnvironment()];
}
