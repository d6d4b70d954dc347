import type { JsonObject } from './json.ts';

/** How the model was chosen. Open: plugins may add words. */
export type RoutingStrategy =
  | 'direct'
  | 'auto'
  | 'free'
  | 'latest'
  | 'alias'
  | 'fallback'
  | 'pareto'
  | 'bodybuilder'
  | 'fusion'
  | (string & {});

/** What a plugin, guardrail or server tool changed in this request (gaps 6.5). */
export interface PipelineStage {
  readonly type: string;
  readonly name: string;
  readonly summary?: string;
  readonly guardrail_id?: string;
  readonly guardrail_scope?: string;
  /** US dollars. */
  readonly cost_usd?: number | null;
  readonly data?: JsonObject;
}

/** Explains the routing of one request (contract: `router_metadata`; gaps 6.5). */
export interface RouterMetadata {
  /** Model slug or alias as it was sent. */
  readonly requested: string;
  readonly strategy: RoutingStrategy;
  readonly region: string | null;
  readonly summary: string;
  /** Attempt that answered, counted from 1; 0 when nothing was tried. */
  readonly attempt: number;
  readonly is_byok: boolean;
  readonly endpoints: {
    readonly total: number;
    readonly available: readonly { readonly provider: string; readonly model: string; readonly selected: boolean }[];
  };
  /** Upstream calls in order, with the status each ended in. */
  readonly attempts?: readonly { readonly provider: string; readonly model: string; readonly status: number }[];
  readonly params?: JsonObject;
  /** Milliseconds from the call to the provider to the end of its answer. */
  readonly generation_time?: number;
  /** Only stages that changed something. */
  readonly pipeline?: readonly PipelineStage[];
}
