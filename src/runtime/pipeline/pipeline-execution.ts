/** Runs a request that plugins or server tools take part in. */
import { declareEndpoint, type Endpoint } from '../../catalog/endpoint.ts';
import type { PluginAnswer } from '../../contracts/plugin.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import { filterCandidates, type FilteredCandidates } from '../../core/pipeline/filter-candidates.ts';
import { frozenRequest, withoutNative } from '../../core/pipeline/frozen.ts';
import { offerTools } from '../../core/pipeline/offer-tools.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { Settlement } from '../../core/stream/billing.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { ChatExecution } from '../chat/execution.ts';
import { errorOfFault, withContext } from '../chat/router-errors.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { expandTools } from '../tools/run-tools.ts';
import { ToolLoop } from '../tools/tool-loop.ts';
import { AnsweredExecution } from './answered-execution.ts';
import { handleHookFailure } from './inner-call.ts';
import { RequestUsage } from './request-usage.ts';
import { loadPlugins, needsLoading } from './load-plugins.ts';
import { PluginRun } from './plugin-run.ts';
import { piecesOf } from '../../core/stream/pieces.ts';
import { JudgedAnswers, judgedAnswer } from './judged-answers.ts';
import { heldCall, TransformedCall } from './transformed-call.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import { type Answer, type AnswerCall, changedAnswer, type Execution, type RequestOutcome } from '../chat/answer.ts';
import { planRequest, servedBefore } from '../chat/plan.ts';
import type { PreparedRequest } from './prepared-request.ts';

/** Plans a prepared request with its plugins as a call would, without running what may wait. */
export async function planForExplanation(
  services: RuntimeServices,
  { request, plugins, body }: PreparedRequest,
): Promise<PluginPlan> {
  const offer = offerTools(request, services.registry, body);
  if (!offer.ok) throw errorOfFault(offer.fault);
  const loaded = new Set(plugins);
  if (needsLoading(plugins)) {
    await loadPlugins(services, plugins, new AbortController().signal, (active, failure) => {
      handleHookFailure(services, new RequestUsage(), { active, hook: 'load', failure });
      loaded.delete(active);
    });
  }
  const roll = services.environment.random();
  return planWithPlugins(services, offer.value.request, [...loaded], {
    roll,
    stateOf: () => undefined,
    onFailures: (failures) => {
      for (const { active, thrown } of failures) {
        const failure = { type: 'threw', thrown } as const;
        handleHookFailure(services, new RequestUsage(), { active, hook: 'onCandidates', failure });
      }
    },
  });
}

/** What a request with plugins or server tools begins with. */
interface PipelineStart {
  readonly request: NormalizedRequest;
  readonly plugins: readonly ActivePlugin[];
  /** As its caller sent it: faults name its paths. */
  readonly body: unknown;
  readonly signal: AbortSignal;
  /** Random number for the choice among equal endpoints. Default: one of its own. */
  readonly roll?: number | undefined;
}

/**
 * A request that plugins take part in, or that offers server tools: hooks, then the plan, then the providers or the
 * loop of tools, then the hooks again. Nothing happens before {@link PipelineExecution.run}, so that a stream can be
 * kept open while plugins work.
 */
export class PipelineExecution implements Execution {
  readonly startedAt: number;
  readonly signal: AbortSignal;
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  readonly #services: RuntimeServices;
  readonly #body: unknown;
  readonly #ledger: RequestUsage;
  readonly #plugins: PluginRun;
  #request: NormalizedRequest;
  #plan: RoutePlan;
  /** Judges answers, where plugins want to. */
  #judged: JudgedAnswers | undefined;
  /** The request of a stream that is held back until its answer is judged: providers are asked for all of it at once. */
  #streamed: NormalizedRequest | undefined;
  /** Who asks the providers. Undefined as long as nobody does. */
  #inner: Execution | undefined;

  constructor(services: RuntimeServices, { request, plugins, body, signal, roll }: PipelineStart) {
    this.startedAt = services.environment.now();
    this.signal = signal;
    this.#services = services;
    this.#ledger = new RequestUsage((usd) => services.spending.charge(request, usd));
    this.#body = body;
    this.#request = plugins.length === 0 ? request : frozenRequest(request);
    this.#plan = { requested: request.requested, steps: [], rejected: [] };
    this.#plugins = new PluginRun(services, plugins, this.#ledger, { signal, roll });
  }

  get request(): NormalizedRequest {
    return this.#streamed ?? this.#inner?.request ?? this.#request;
  }

  get plan(): RoutePlan {
    return this.#inner?.plan ?? this.#plan;
  }

  get attempts(): readonly Attempt[] {
    return this.#inner?.attempts ?? [];
  }

  async run(): Promise<Answer> {
    try {
      this.#inner = await this.#prepare();
      const notify: Execution['onSending'] = (endpoint, body) => this.onSending?.(endpoint, body);
      this.#inner.onSending = notify;
      return this.#withPlugins(await this.#inner.run());
    } catch (error) {
      throw this.#explained(error);
    }
  }

  metadata(outcome: RequestOutcome, generationTime?: number): RouterMetadata {
    const metadata = this.#inner?.metadata(outcome, generationTime) ?? nothingTried(this.#plan);
    const { stages } = this.#ledger;
    return stages.length === 0 ? metadata : { ...metadata, pipeline: stages };
  }

  get errorMetadata(): JsonObject {
    return this.#ledger.errorMetadata;
  }

  /** What the models of the request, its plugins and its tools used and cost. */
  #billed(models: Pick<Settlement, 'usage' | 'costParts'>): Pick<Settlement, 'usage' | 'costParts'> {
    const { usage, costParts: parts } = this.#judged?.total(models) ?? models;
    // Parts of a cost add up to it; what plugins and tools cost is not among them.
    const costParts = this.#ledger.hasCosts ? undefined : parts;
    return { usage: this.#ledger.total(usage), costParts };
  }

  async #polish(result: ChatResult): Promise<ChatResult> {
    try {
      return await this.#plugins.onResult(result, this.#request);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Errors of ours tell what happened until then; who threw them knows only a part of it. */
  #explained(error: unknown): unknown {
    if (!RouterError.isInstance(error)) return error;
    const { errorMetadata: metadata } = this.#ledger;
    return withContext(error, { generationId: this.#request.id, routerMetadata: this.metadata('failed'), metadata });
  }

  /** Everything that happens before the first provider is called. */
  async #prepare(): Promise<Execution> {
    await this.#plugins.load();
    const outcome = await this.#plugins.onRequest(this.#request);
    if (outcome.type === 'answer') return this.#answeredBy(outcome.by, outcome.answer);
    const { needs } = outcome.changed;
    this.#request = this.#plugins.rewrites
      ? withoutNative(outcome.changed.request, 'plugins that rewrite requests or answers')
      : outcome.changed.request;
    const expanded = await expandTools(this.#services, this.#request, this.#body, this.signal);
    const offer = offerTools(this.#request, this.#services.registry, this.#body, expanded);
    if (!offer.ok) throw errorOfFault(offer.fault);
    const offered = { ...offer.value.request, needs: { ...offer.value.request.needs, ...needs } };
    const { request: planned, plan } = await this.#planned(offered);
    this.#plan = plan;
    this.signal.throwIfAborted();
    const request = this.#held(planned);
    const judged = this.#judged;
    const prepare = this.#plugins.prepares
      ? (one: NormalizedRequest, endpoint: Endpoint) => this.#plugins.onAttempt(one, endpoint)
      : undefined;
    const { tools, native } = offer.value;
    if (native.length > 0) {
      const summary = 'left to the provider';
      this.#ledger.stage('server-tools', { type: 'server_tools', summary, data: { mode: 'native', tools: native } });
    }
    if (tools.size > 0) {
      const options = { request, plan, tools, signal: this.signal, ledger: this.#ledger, prepare, judged };
      return new ToolLoop(this.#services, options);
    }
    return new ChatExecution(this.#services, {
      request,
      plan,
      signal: this.signal,
      prepare: prepare && ((endpoint) => prepare(request, endpoint)),
      judged,
    });
  }

  /** The request as it is asked: where answers are judged, for answers in one piece. */
  #held(request: NormalizedRequest): NormalizedRequest {
    const judge = this.#plugins.judge(request);
    if (judge === undefined) return request;
    this.#judged = new JudgedAnswers(judge);
    if (!request.stream) return request;
    this.#streamed = request;
    return { ...request, stream: false };
  }

  async #planned(request: NormalizedRequest): Promise<{ request: NormalizedRequest; plan: RoutePlan }> {
    const plugins = this.#plugins;
    const { filtered, ...planned } = await planWithPlugins(this.#services, request, plugins.active, {
      roll: plugins.roll,
      stateOf: (active) => plugins.stateOf(active),
      onFailures: (failures) => {
        for (const { active, thrown } of failures) plugins.broken(active, 'onCandidates', { type: 'threw', thrown });
      },
    });
    for (const { id, record } of filtered.stages) this.#ledger.stage(id, record);
    for (const id of filtered.changedBy) this.#ledger.stageUnlessNoted(id, 0, 'chose the models');
    return planned;
  }

  #answeredBy(id: string, given: PluginAnswer): Execution {
    const answer = judgedAnswer(given, this.#plugins.judge(this.#request));
    const { model = this.#request.requested, provider = id } = answer;
    const endpoint = declareEndpoint({ slug: id, name: provider }, model, {});
    return new AnsweredExecution(this.#services, this.#request, this.signal, { endpoint, answer });
  }

  /** An answer with what plugins and tools add to it, and to its cost. */
  #withPlugins(given: Answer): Answer {
    const { result: whole } = given;
    const answer =
      this.#streamed === undefined || whole === undefined
        ? given
        : changedAnswer(given, { result: undefined, call: heldCall(piecesOf(whole)) });
    return changedAnswer(answer, {
      call: this.#transformed(answer),
      bill: () => this.#billed(answer.bill()),
      settle: (end) => {
        const { attempt, facts } = answer.settle(end);
        return { attempt, facts: { ...facts, ...this.#billed(facts) } };
      },
      polish: (result) => this.#polish(result),
    });
  }

  /** Streams go through the transforms of plugins; non-streaming responses do when they are polished. */
  #transformed(answer: Answer): AnswerCall {
    if (answer.result !== undefined) return answer.call;
    const chain = this.#plugins.transforms(this.#request);
    if (chain === undefined) return answer.call;
    return new TransformedCall(answer.call, chain, (thrown) => {
      this.#plugins.noteTransforms(chain);
      if (thrown !== undefined) answer.abandon();
    });
  }
}

/** Metadata of a request that ended before anything was planned. */
function nothingTried({ requested }: RoutePlan): RouterMetadata {
  return {
    requested,
    strategy: 'direct',
    region: null,
    summary: 'available=0, selected=none',
    attempt: 0,
    is_byok: false,
    endpoints: { total: 0, available: [] },
  };
}

/** A plan, and the request that it is for: plugins may have put other models into it. */
interface PluginPlan {
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  readonly filtered: FilteredCandidates;
}

/** What planning with plugins needs of those that take part. */
interface PluginPlanning {
  /** Random number for the choice among equal endpoints. */
  readonly roll: number;
  readonly stateOf: (active: ActivePlugin) => unknown;
  /** Deals with plugins that failed, before anything is planned. */
  readonly onFailures: (failures: FilteredCandidates['failures']) => void;
}

/** Plans a request whose plugins choose models. The same for `explain` and for a call. */
async function planWithPlugins(
  services: RuntimeServices,
  request: NormalizedRequest,
  plugins: readonly ActivePlugin[],
  { roll, stateOf, onFailures }: PluginPlanning,
): Promise<PluginPlan> {
  const { environment, facts, records, selection } = services;
  const isRouted = request.targets.some((target) => target.router !== undefined);
  // A plan asks for the session itself, but here the plugins must know first.
  const served = isRouted ? await servedBefore(services, request) : undefined;
  const filtered = filterCandidates(request, plugins, {
    roll,
    stateOf,
    catalog: facts.catalog,
    sticky: served?.[0]?.endpoint,
    record: records.record,
    now: environment.now(),
    policy: selection,
  });
  onFailures(filtered.failures);
  for (const message of filtered.warnings) services.notifyOperator(message);
  const plan = await planRequest(services, filtered.request, { roll, served });
  return {
    request: filtered.request,
    plan: { ...plan, rejected: [...filtered.rejected, ...plan.rejected] },
    filtered,
  };
}
