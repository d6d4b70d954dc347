import type { ServiceUse, StageRecord } from '../../contracts/plugin-context.ts';
import { frozenCopy } from '../../core/pipeline/frozen.ts';
import { addServiceUse, addUsage } from '../../core/stream/sum-usage.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { PipelineStage } from '../../protocol/metadata.ts';
import type { Usage } from '../../protocol/usage.ts';

/** What the plugins and server tools of one request did, used and cost. */
export class RequestUsage {
  readonly stages: PipelineStage[] = [];
  readonly #onCost: (usd: number) => void;
  /** Who noted each stage. */
  readonly #authors: string[] = [];
  readonly #uses: ServiceUse[] = [];
  #errorMetadata: JsonObject = {};
  #inner: Usage | undefined;
  #requested = 0;
  #works = 0;
  #executed = 0;

  /** @param onCost - Told of everything that is paid to services outside the models. */
  constructor(onCost: (usd: number) => void = () => {}) {
    this.#onCost = onCost;
  }

  /** The number of the next hook or tool call, counted from 1. */
  nextWork(): number {
    this.#works += 1;
    return this.#works;
  }

  /** Notes a stage; what the record leaves out is the plugin's. */
  stage(id: string, record: StageRecord): void {
    const { type = 'plugin', name = id, ...rest } = record;
    this.#authors.push(id);
    this.stages.push(frozenCopy({ type, name, ...withoutUndefined(rest) }) as PipelineStage);
  }

  /** Notes what a plugin did in words of ours, unless it has noted something itself since there were so many stages. */
  stageUnlessNoted(id: string, from: number, summary: string): void {
    const noted = this.stages.some((stage, at) => at >= from && this.#authors[at] === id && stage.type !== 'call');
    if (!noted) this.stage(id, { summary });
  }

  /** Notes what a service used and cost. */
  used(use: ServiceUse): void {
    this.#uses.push(use);
    if (use.cost) this.#onCost(use.cost);
  }

  /** Members for the metadata of an error, should there be one. */
  get errorMetadata(): JsonObject {
    return this.#errorMetadata;
  }

  /** Notes what the caller should get if the request fails. */
  onError(metadata: JsonObject): void {
    this.#errorMetadata = { ...this.#errorMetadata, ...frozenCopy(metadata) };
  }

  /** Notes a call of the router that a plugin or a server tool made. */
  called(id: string, { id: generation, model, provider, usage }: ChatResult): void {
    if (usage !== undefined) this.#inner = this.#inner === undefined ? usage : addUsage(this.#inner, usage);
    this.stage(id, {
      type: 'call',
      summary: `called ${model}`,
      cost_usd: usage?.cost ?? null,
      data: {
        generation_id: generation,
        model,
        provider,
        prompt_tokens: usage?.prompt_tokens,
        completion_tokens: usage?.completion_tokens,
      },
    });
  }

  /** True when something besides the models of the request itself had a cost. */
  get hasCosts(): boolean {
    return this.#inner !== undefined || this.#uses.some(({ cost }) => Boolean(cost));
  }

  /** Notes calls of server tools: those the requested model, and those that were carried out. */
  toolCalls(requested: number, executed: number): void {
    this.#requested += requested;
    this.#executed += executed;
  }

  /** What the models of a request used, and everything beside them. */
  total(models: Usage): Usage {
    let usage = this.#inner === undefined ? models : addUsage(models, this.#inner);
    for (const use of this.#uses) usage = addServiceUse(usage, use);
    if (this.#requested === 0) return usage;
    const { server_tool_use_details: details } = usage;
    return {
      ...usage,
      server_tool_use_details: {
        ...details,
        tool_calls_requested: (details?.tool_calls_requested ?? 0) + this.#requested,
        tool_calls_executed: (details?.tool_calls_executed ?? 0) + this.#executed,
      },
    };
  }
}

function withoutUndefined(record: StageRecord): StageRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
