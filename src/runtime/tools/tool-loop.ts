/** The loop of server tools: turns of the model and calls of tools by turns. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { unknownProviders } from '../../core/normalize/unknown-providers.ts';
import type { OfferedTool } from '../../core/pipeline/offer-tools.ts';
import { isLoopOver, type LoopProgress, NO_PROGRESS, stepsLeft } from '../../core/pipeline/replay.ts';
import { nextTurn, TurnJoint, withToolsOff } from '../../core/pipeline/turn-requests.ts';
import { describeRouting } from '../../core/selection/router-metadata.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { commits } from '../../core/stream/pieces.ts';
import { addUsage } from '../../core/stream/sum-usage.ts';
import type { ResultToolCall } from '../../protocol/chat-result.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { Settlement } from '../../core/stream/billing.ts';
import { ChatExecution, type JudgedCalls } from '../chat/execution.ts';
import { heldCall } from '../pipeline/transformed-call.ts';
import type { RequestUsage } from '../pipeline/request-usage.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { type FinishedTurn, ModelTurn } from './model-turn.ts';
import { type FinishedCall, runTools } from './run-tools.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { FactsPiece, FinishPiece, StreamPiece, UpstreamResult } from '../../contracts/stream-piece.ts';
import type { Answer, AnswerCall, Execution, RequestOutcome } from '../chat/answer.ts';

/** What a loop begins with. */
interface ToolLoopOptions {
  /** With the server tools among its functions. */
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  /** By function name. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  readonly signal: AbortSignal;
  readonly ledger: RequestUsage;
  /** Plugins that change a request for an endpoint. */
  readonly prepare?: ((request: NormalizedRequest, endpoint: Endpoint) => Promise<NormalizedRequest>) | undefined;
  /** What makes the calls, where answers are judged. */
  readonly judged?: JudgedCalls | undefined;
}

/**
 * The loop of server tools (gaps 2.1, 5.11), the same for non-streaming and streaming answers: a turn of the model, the tools
 * it called, the next turn, until it has its answer, calls a function of the caller, or its budget is used up. To the
 * outside it is one answer: one stream of content, one end, the usage of all turns.
 */
export class ToolLoop implements Execution {
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  onSending: Execution['onSending'];
  readonly #services: RuntimeServices;
  readonly #options: ToolLoopOptions;
  readonly #names: ReadonlySet<string>;
  readonly #joint = new TurnJoint();
  readonly #uses = new Map<string, number>();
  /** Attempts of the turns that are over. */
  #attempts: readonly Attempt[] = [];
  #turn: ModelTurn | undefined;
  /** The request of the next turn. */
  #next: NormalizedRequest;
  #toolsOff = false;
  #progress: LoopProgress = NO_PROGRESS;
  /** Of all turns; undefined once one of them has none. */
  #costParts: Settlement['costParts'] = [];
  #last: Answer | undefined;
  /** What is shown together with the next content, so that a failure before it can still be an ordinary error. */
  #held: StreamPiece[] = [];
  #committed = false;
  #over = false;
  #noted = false;

  constructor(services: RuntimeServices, options: ToolLoopOptions) {
    this.#services = services;
    this.#options = options;
    this.request = options.request;
    this.plan = options.plan;
    this.signal = options.signal;
    this.startedAt = services.environment.now();
    this.#next = options.request;
    this.#names = new Set(options.tools.keys());
  }

  get attempts(): readonly Attempt[] {
    return this.#turn === undefined ? this.#attempts : [...this.#attempts, ...this.#turn.execution.attempts];
  }

  /** Works until there is something to show of a stream, or until a non-streaming response is complete. */
  async run(): Promise<Answer> {
    const first = await this.next();
    const { stream } = this.request;
    if (stream) return this.#answerOf(new LoopedCall(this, first, this.#lastAnswer().call.tracker.facts));
    const collector = new ResultCollector();
    for (let pieces = first; pieces !== undefined; pieces = await this.next()) {
      for (const piece of pieces) collector.add(piece);
    }
    return this.#answerOf(heldCall([]), { ...collector.result(), usage: this.#bill().usage });
  }

  /**
   * The next pieces of the one stream that all turns make; undefined at its end.
   *
   * @throws {@link RouterError} when no endpoint answers a turn; the signal's reason when the client disconnects.
   */
  async next(): Promise<readonly StreamPiece[] | undefined> {
    while (!this.#over) {
      const turn = this.#turn ?? (await this.#open());
      const pieces = await turn.read();
      this.#last = turn.answer ?? this.#last;
      if (pieces === undefined) await this.#afterTurn(turn.finish());
      else {
        this.#held.push(...pieces.map((piece) => this.#joint.join(piece)));
        // Where answers are judged, only the last turn may have text: all that is shown fits.
        this.#committed ||= this.#options.judged === undefined && pieces.some(commits);
      }
      if (this.#held.length > 0 && (this.#committed || this.#over || isBroken(this.#held))) return this.#held.splice(0);
    }
    return undefined;
  }

  /** What all turns make together, as the answer of the last endpoint that was called before it was handed out. */
  #answerOf(call: AnswerCall, result?: UpstreamResult): Answer {
    const { endpoint, firstTokenAt } = this.#lastAnswer();
    return {
      endpoint,
      call,
      firstTokenAt,
      result,
      bill: () => this.#bill(),
      settle: (end) => {
        const { usage, costParts } = this.#bill();
        return { attempt: this.#lastAttempt(), facts: { usage, costParts, ...end } };
      },
      fail: (reason) => {
        this.#fail(reason);
        return this.#lastAttempt();
      },
      abandon: () => this.#fail(failure('aborted', 'The client disconnected')),
    };
  }

  #bill(): Settlement {
    const usage = this.#progress.usage ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    return { usage, costParts: this.#costParts };
  }

  /** Settles the turn that is under way, if one is. The others were settled when they ended. */
  #fail(reason: AttemptFailure): void {
    if (this.#turn?.answer !== undefined) this.#turn.fail(reason);
  }

  #lastAttempt(): Attempt {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) throw new RangeError('an answer belongs to an attempt');
    return attempt;
  }

  get endpoint(): Endpoint | undefined {
    return this.#turn?.answer?.call.endpoint;
  }

  /** Frees what is under way. */
  close(): void {
    this.#over = true;
    this.#turn?.answer?.call.close();
  }

  metadata(outcome: RequestOutcome, generationTime?: number): RouterMetadata {
    const answered = outcome === 'answered';
    if (!answered) this.#note();
    const { plan, attempts } = this;
    const warnings = unknownProviders(this.request.preferences, this.#services.facts.catalog);
    return describeRouting({ plan, attempts, answered, generationTime, pipeline: [], warnings });
  }

  async #open(): Promise<ModelTurn> {
    const { prepare, signal } = this.#options;
    const request = this.#next;
    const toolsOff = this.#toolsOff;
    const execution = new ChatExecution(this.#services, {
      request,
      plan: this.#planOfTurn(),
      signal,
      // What a stream has shown makes progress; a non-streaming response, or one that shows nothing yet, has its time in total.
      deadlineAt: this.#committed && request.stream ? undefined : this.startedAt + this.#services.timeouts.totalMs,
      attemptsBefore: this.#attempts.length,
      judged: this.#options.judged,
      prepare:
        prepare === undefined && !toolsOff
          ? undefined
          : (endpoint) => {
              const shown = toolsOff ? withToolsOff(request, endpoint) : request;
              return prepare === undefined ? shown : prepare(shown, endpoint);
            },
    });
    const notify: Execution['onSending'] = (endpoint, body) => this.onSending?.(endpoint, body);
    execution.onSending = notify;
    const turn = new ModelTurn(execution, this.#names);
    this.#turn = turn;
    this.#last = await turn.open();
    this.#joint.turn();
    return turn;
  }

  /** The endpoint of the last turn knows the conversation, and has it in its cache. */
  #planOfTurn(): RoutePlan {
    const used = this.#last?.endpoint;
    if (used === undefined) return this.plan;
    const isUsed = (step: RoutePlan['steps'][number]): boolean => step.endpoint.id === used.id;
    const { steps } = this.plan;
    return { ...this.plan, steps: [...steps.filter(isUsed), ...steps.filter((step) => !isUsed(step))] };
  }

  async #afterTurn(turn: FinishedTurn): Promise<void> {
    this.#attempts = this.attempts;
    this.#turn = undefined;
    const calls = (turn.message.tool_calls ?? []).map(withId(this.#progress.steps));
    const ours = calls.filter((call) => this.#names.has(call.function.name));
    const left = stepsLeft(this.request, this.#progress);
    this.#costParts = turn.bill.costParts && this.#costParts && [...this.#costParts, ...turn.bill.costParts];
    this.#progress = progressAfter(this.#progress, turn, calls, ours.length);
    const isLast = ours.length === 0 || this.#toolsOff;
    // A function of the caller ends the turn: what it gives is needed to go on.
    const isForCaller = calls.length > ours.length;
    if (!isLast) {
      if (this.#options.judged !== undefined && !isForCaller) this.#held = this.#joint.withoutText(this.#held);
      const { services, tools, ledger, signal } = { ...this.#options, services: this.#services };
      ledger.toolCalls(ours.length, 0);
      const run = { services, tools, ledger, signal, uses: this.#uses, request: this.#next };
      const finished = await runTools(ours, run, left);
      this.#keep(finished);
      this.#next = nextTurn(this.#next, turn.message, finished, this.#names);
      this.#toolsOff = isLoopOver(this.request, this.#progressWithTools());
    }
    if (isLast || isForCaller) this.#end(isForCaller ? turn.finishes : turn.finishes.map(muted));
  }

  /** What conditions look at: tools may cost more than the model that calls them. */
  #progressWithTools(): LoopProgress {
    const { usage } = this.#progress;
    return { ...this.#progress, usage: usage && this.#options.ledger.total(usage) };
  }

  /** What calls leave in the answer besides what the model makes of them. */
  #keep(finished: readonly FinishedCall[]): void {
    const annotations = finished.flatMap(({ outcome }) => outcome?.annotations ?? []);
    const images = finished.flatMap(({ outcome }) => outcome?.images ?? []);
    this.#held.push(this.#joint.calls(finished));
    if (annotations.length > 0) this.#held.push({ type: 'delta', index: 0, delta: { annotations } });
    if (images.length > 0) this.#held.push({ type: 'delta', index: 0, delta: { images } });
  }

  #end(finishes: readonly FinishPiece[]): void {
    this.#over = true;
    this.#note();
    this.#held.push(...finishes, { type: 'end' });
  }

  /** Leaves the stage of the loop (gaps 5.11), once. */
  #note(): void {
    const { steps } = this.#progress;
    if (steps === 0 || this.#noted) return;
    this.#noted = true;
    const used = [...this.#options.tools.values()].filter(({ name }) => this.#uses.has(name));
    this.#options.ledger.stage('server-tools', {
      type: 'server_tools',
      summary: `${steps} ${steps === 1 ? 'call' : 'calls'}`,
      data: { mode: 'sdk', tools: [...new Set(used.map(({ definition }) => definition.type))] },
    });
  }

  #lastAnswer(): Answer {
    if (this.#last === undefined) throw new RangeError('a loop has at least one turn');
    return this.#last;
  }
}

function progressAfter(
  before: LoopProgress,
  { bill: { usage }, finishes }: FinishedTurn,
  calls: readonly ResultToolCall[],
  steps: number,
): LoopProgress {
  return {
    steps: before.steps + steps,
    called: new Set([...before.called, ...calls.map((call) => call.function.name)]),
    usage: before.usage === undefined ? usage : addUsage(before.usage, usage),
    finishReason: finishes[0]?.reason ?? null,
  };
}

/** Some servers give calls no id, but the result must name one. */
function withId(steps: number): (call: ResultToolCall, index: number) => ResultToolCall {
  return (call, index) => (call.id === '' ? { ...call, id: `server_call_${steps + index}` } : call);
}

function isBroken(pieces: readonly StreamPiece[]): boolean {
  return pieces.some((piece) => typeof piece !== 'string' && piece.type === 'failure');
}

/** What a looped call reads from. */
interface Loop {
  /** Who has gone on with the turn that is under way, where one has. */
  readonly endpoint: Endpoint | undefined;
  next(): Promise<readonly StreamPiece[] | undefined>;
  close(): void;
}

/** All turns of a loop as the stream of one call. */
class LoopedCall implements AnswerCall {
  readonly tracker = new StreamTracker();
  readonly #loop: Loop;
  #first: readonly StreamPiece[] | undefined;

  /**
   * @param first - Pieces that were read already.
   * @param facts - What the first turn said of itself before them.
   */
  constructor(loop: Loop, first: readonly StreamPiece[] | undefined, facts: FactsPiece) {
    this.#loop = loop;
    this.#first = first;
    this.tracker.observe(facts);
  }

  get endpoint(): Endpoint | undefined {
    return this.#loop.endpoint;
  }

  read(): Promise<readonly StreamPiece[] | undefined> {
    const first = this.#first;
    this.#first = undefined;
    return first === undefined ? this.#loop.next() : Promise.resolve(first);
  }

  close(): void {
    this.#loop.close();
  }
}

/** The end of an answer whose calls are none of the caller's. */
function muted(finish: FinishPiece): FinishPiece {
  return finish.index === 0 && finish.reason === 'tool_calls' ? { ...finish, reason: 'stop' } : finish;
}
