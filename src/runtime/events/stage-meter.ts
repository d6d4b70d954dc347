import { nanoFromUsd } from '../../catalog/cost.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { requestFacts } from './announce.ts';
import type { RuntimeServices } from '../chat/services.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { PluginFacts, PluginOutcome, StageCosts, ToolCallOutcome } from '../../contracts/events.ts';

/** Counts what one hook of a plugin or one call of a server tool takes, and tells of its begin and its end. */
export class StageMeter {
  /** Counted from 1 in its request. */
  readonly stage: number;
  readonly #services: RuntimeServices;
  readonly #request: NormalizedRequest;
  readonly #startedAt: number;
  #serviceCost: number | undefined;
  #serviceNanoUsd = 0;
  #modelCost: number | undefined;
  #modelTokens: number | undefined;

  constructor(services: RuntimeServices, request: NormalizedRequest, stage: number) {
    this.#services = services;
    this.#request = request;
    this.stage = stage;
    this.#startedAt = services.environment.now();
  }

  /** Notes what a service cost, in US dollars. */
  used(cost: number | undefined): void {
    if (cost === undefined) return;
    this.#serviceCost = (this.#serviceCost ?? 0) + cost;
    // As budgets are charged, so that sums agree: each use by itself.
    this.#serviceNanoUsd += Math.max(0, nanoFromUsd(cost));
  }

  /** Notes what a model used that was called on the way. */
  requested(usage: Usage | undefined): void {
    if (usage === undefined) return;
    this.#modelTokens = (this.#modelTokens ?? 0) + usage.total_tokens;
    if (usage.cost !== undefined) this.#modelCost = (this.#modelCost ?? 0) + usage.cost;
  }

  pluginStarts(plugin: string, hook: PluginFacts['hook']): void {
    const { events } = this.#services;
    if (!events.heard('plugin_start')) return;
    events.emit('plugin_start', { request: requestFacts(this.#request), stage: this.stage, plugin, hook });
  }

  pluginEnds(plugin: string, hook: PluginFacts['hook'], outcome: PluginOutcome): void {
    const { events, ledger } = this.#services;
    ledger?.worked(this.#request.id, { kind: 'plugin', id: plugin, hook, outcome, ...this.#ended() });
    if (!events.heard('plugin')) return;
    const request = requestFacts(this.#request);
    events.emit('plugin', { request, stage: this.stage, plugin, hook, outcome, ...this.#costs() });
  }

  toolStarts(tool: string, name: string): void {
    const { events } = this.#services;
    if (!events.heard('tool_start')) return;
    events.emit('tool_start', { request: requestFacts(this.#request), stage: this.stage, tool, name });
  }

  /** Tells those who listen to it what a tool was called with, and what the model is told. */
  toolSaid(id: string, args: JsonObject, result: string | undefined): void {
    const { events } = this.#services;
    if (!events.heard('content')) return;
    const request = requestFacts(this.#request);
    events.emit('content', { type: 'tool', request, stage: this.stage, id, arguments: args, result });
  }

  toolEnds(tool: string, name: string, outcome: ToolCallOutcome): void {
    const { events, ledger } = this.#services;
    ledger?.worked(this.#request.id, { kind: 'tool', type: tool, name, outcome, ...this.#ended() });
    if (!events.heard('tool')) return;
    const request = requestFacts(this.#request);
    events.emit('tool', { request, stage: this.stage, tool, name, outcome, ...this.#costs() });
  }

  #ended(): { readonly startedAt: number; readonly endedAt: number; readonly cost_nano_usd?: number } {
    const times = { startedAt: this.#startedAt, endedAt: this.#services.environment.now() };
    return this.#serviceNanoUsd === 0 ? times : { ...times, cost_nano_usd: this.#serviceNanoUsd };
  }

  #costs(): StageCosts {
    return {
      durationMs: this.#services.environment.now() - this.#startedAt,
      serviceCost: this.#serviceCost,
      ...(this.#serviceNanoUsd === 0 ? {} : { serviceNanoUsd: this.#serviceNanoUsd }),
      modelCost: this.#modelCost,
      modelTokens: this.#modelTokens,
    };
  }
}
