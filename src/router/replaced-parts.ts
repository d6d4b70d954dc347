/** Closes the parts of earlier configurations once no request uses them. */
import type { RunningConfig } from '../config/resolve-config.ts';
import type { RunningServices } from './build-services.ts';
import type { ChatService } from './chat.ts';
import type { ConfigurationVersion, CurrentConfiguration } from '../config/change-config.ts';
import { ConfigError } from '../protocol/router-error.ts';
import type { RouterConfig } from '../config/router.ts';
import type { RouterInternals } from './router.ts';

/** A configuration in force, with everything that works by it. */
export interface RouterVersion extends RunningServices {
  readonly running: RunningConfig;
  readonly chat: ChatService;
  readonly configuration: ConfigurationVersion;
  /** Its options as a program may see them, made when one looks. */
  readonly shown: () => CurrentConfiguration;
  readonly internals: RouterInternals;
}

/** Something that may hold connections open. */
interface Part {
  close?(): unknown;
}

/** The parts of a configuration that a router closes. */
export function closableParts({ providers, plugins, serverTools }: RouterVersion['config']): readonly Part[] {
  return [...providers, ...plugins, ...serverTools];
}

/**
 * Parts that only requests of earlier configurations use. They are not closed before their router is: that would cut
 * streams that are under way, and connections that nobody uses end by themselves.
 */
export class ReplacedParts {
  #parts: readonly WeakRef<Part>[] = [];

  /** Notes what a change has left unused. */
  add(before: RouterVersion, next: RouterVersion): void {
    const used = new Set<Part>(closableParts(next.config));
    const unused = closableParts(before.config).filter((part) => !used.has(part) && part.close !== undefined);
    this.#parts = [
      ...this.#parts.filter((part) => part.deref() !== undefined),
      ...unused.map((one) => new WeakRef(one)),
    ];
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.deref()?.close?.()));
  }
}

/** Versions that are kept besides the one in force: each keeps its providers in memory. */
const MAX_EARLIER = 10;

/** Earlier versions that can be put in force again, the latest last. */
export class EarlierVersions {
  #versions: readonly { readonly configuration: ConfigurationVersion; readonly given: RouterConfig }[] = [];

  get all(): readonly { readonly configuration: ConfigurationVersion }[] {
    return this.#versions;
  }

  add({ configuration, running }: RouterVersion): void {
    this.#versions = [...this.#versions, { configuration, given: running.given }].slice(-MAX_EARLIER);
  }

  /** @throws {@link ConfigError} when the version is in force, or is not kept. */
  optionsOf(version: number, current: ConfigurationVersion): RouterConfig {
    const found = this.#versions.find(({ configuration }) => configuration.version === version);
    if (found !== undefined) return found.given;
    const kept = this.#versions.map(({ configuration }) => configuration.version).join(', ');
    const instead = kept === '' ? 'there is no earlier one' : `earlier ones that are kept: ${kept}`;
    const fault = version === current.version ? 'is the version in force' : 'is not a version that is kept';
    throw new ConfigError([{ path: `Version ${String(version)}`, problem: `${fault}; ${instead}` }]);
  }
}

/**
 * A provider that was made anew may have another credential, so what was held against the old one is forgotten: wrong
 * keys, an empty balance, a model that the account did not have.
 */
export function forgetRefusals(before: RouterVersion, next: RouterVersion): void {
  const { records, facts, providers } = next.services;
  for (const model of facts.catalog.models.keys()) {
    for (const endpoint of facts.catalog.endpoints(model)) {
      const { provider } = endpoint;
      if (providers.get(provider) !== before.services.providers.get(provider)) records.forgetRefusal(endpoint);
    }
  }
}
