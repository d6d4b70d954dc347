import { answerChecks } from './provider-checks/answer-checks.ts';
import type { ProviderCheck, ProviderHarness } from './provider-checks/harness.ts';
import { embeddingChecks } from './provider-checks/embedding-checks.ts';
import { cancellationChecks, failureChecks } from './provider-checks/failure-checks.ts';

/**
 * The checks for authors of providers. They need no test runner: each is a name and a function. Together they hold a
 * provider to what the router relies on: it gives every answer exactly, reports every failure by its kind, frees its
 * upstream when nobody waits any more, calls it once, and never throws.
 *
 * Bring a {@link ProviderHarness}: the provider under check, and an upstream of your own making with its API, which does
 * what each check has it do. Every check that needs more than your provider can do is to be left out; see {@link
 * providerChecksFor}.
 *
 * @example
 * ```ts
 * const harness = await startMyUpstream(); // a ProviderHarness
 * for (const { name, run } of providerChecksFor(harness)) it(name, () => run(harness));
 * ```
 */
export const providerChecks: readonly ProviderCheck[] = [
  ...answerChecks,
  ...failureChecks,
  ...cancellationChecks,
  ...embeddingChecks,
];

/** The checks that mean something for a provider with these abilities. */
export function providerChecksFor({ abilities }: Pick<ProviderHarness, 'abilities'>): readonly ProviderCheck[] {
  return providerChecks.filter(({ needs }) => needs.every((need) => abilities.has(need)));
}
