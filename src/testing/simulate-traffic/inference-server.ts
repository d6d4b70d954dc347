/** A simulated inference server with continuous batching. */
import { BLOCK_TOKENS, BlockCache } from './block-cache.ts';
import type { PendingTimer, VirtualClock } from './virtual-clock.ts';
import type { SimulatedInference } from './world.ts';

/** A request that an inference server works on. */
export interface InferenceJob {
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly blocks: readonly string[];
  readonly onFirstToken: () => void;
  readonly onEnd: () => void;
  /** Tokens of the prompt that were in the cache when the server began with it. */
  cachedTokens: number;
}

/** A job that writes its answer. */
interface Writing {
  readonly job: InferenceJob;
  /** What {@link InferenceServer.#written} is when it has its last token. */
  readonly endsAt: number;
}

/**
 * A server with continuous batching, as vLLM and SGLang are, without its single steps. Requests wait in the order of
 * arrival for a place in the batch and for memory. Prompts are computed one after the other, only what is not cached of
 * them, in chunks that share their steps with the answers that are written meanwhile: a step writes one token of each
 * answer and takes as long as these need, and the chunk on top. So a long prompt slows all answers, and many answers slow
 * a prompt. Between two events all of this goes on at constant speeds, so it is computed exactly.
 */
export class InferenceServer {
  readonly #own: { readonly [Name in keyof SimulatedInference]-?: number };
  readonly #clock: VirtualClock;
  readonly #slowness: () => number;
  readonly #cache: BlockCache;
  readonly #waiting: InferenceJob[] = [];
  /** The job whose prompt is computed, and the tokens that are left of that. */
  #prompt: { readonly job: InferenceJob; left: number } | undefined;
  /** Jobs that write, the one that ends first in front. */
  #writing: Writing[] = [];
  /** Tokens that an answer has which has been written since the beginning. */
  #written = 0;
  /** Tokens of the jobs that are worked on, of prompts and answers. */
  #held = 0;
  #atMs = 0;
  #timer: PendingTimer | undefined;

  /**
   * @param lifeMs - How long a block is kept that is not used.
   * @param slowness - How many times as long as usual everything takes at the moment.
   */
  constructor(inference: SimulatedInference, clock: VirtualClock, lifeMs: number, slowness: () => number) {
    const { halvedBy = 64, maxBatch = 256, chunkTokens = 8_192, memoryTokens = 400_000, ...speeds } = inference;
    this.#own = { ...speeds, halvedBy, maxBatch, chunkTokens, memoryTokens };
    this.#clock = clock;
    this.#slowness = slowness;
    this.#cache = new BlockCache(lifeMs);
  }

  /** Queues a request; the result takes it out again, wherever it is by then. */
  submit(job: InferenceJob): () => void {
    this.#advance();
    this.#waiting.push(job);
    this.#schedule();
    return () => {
      this.#advance();
      this.#remove(job);
      this.#schedule();
    };
  }

  #remove(job: InferenceJob): void {
    const place = this.#waiting.indexOf(job);
    if (place >= 0) this.#waiting.splice(place, 1);
    else if (this.#prompt?.job === job) {
      this.#prompt = undefined;
      this.#held -= tokensOf(job);
    } else if (this.#writing.some((one) => one.job === job)) {
      this.#writing = this.#writing.filter((one) => one.job !== job);
      this.#held -= tokensOf(job);
    }
  }

  /** Milliseconds of a step, without a chunk: each answer more makes it longer. */
  #stepMs(): number {
    const { decodePerSecond, halvedBy } = this.#own;
    const others = Math.max(0, this.#writing.length - 1);
    return (1_000 / decodePerSecond) * (1 + others / halvedBy) * this.#slowness();
  }

  /** Tokens of the prompt, and of each answer, that a millisecond brings. */
  #speeds(): { readonly prompt: number; readonly answer: number } {
    const { chunkTokens, prefillPerSecond } = this.#own;
    const stepMs = this.#stepMs();
    if (this.#prompt === undefined) return { prompt: 0, answer: 1 / stepMs };
    // The last chunk is as small as what is left, but then its step is as much shorter.
    const chunkMs = (chunkTokens / prefillPerSecond) * 1_000 * this.#slowness();
    if (this.#writing.length === 0) return { prompt: chunkTokens / chunkMs, answer: 0 };
    return { prompt: chunkTokens / (chunkMs + stepMs), answer: 1 / (chunkMs + stepMs) };
  }

  /** Brings everything to the present. */
  #advance(): void {
    const now = this.#clock.elapsedMs;
    const speeds = this.#speeds();
    const ms = now - this.#atMs;
    this.#atMs = now;
    if (this.#writing.length > 0) this.#written += ms * speeds.answer;
    if (this.#prompt !== undefined) this.#prompt.left -= ms * speeds.prompt;
  }

  /** Takes up what there is a place for, and sets the timer for what happens next. */
  #schedule(): void {
    this.#takeUp();
    if (this.#timer !== undefined) this.#timer.callback = undefined;
    this.#timer = undefined;
    const { prompt, answer } = this.#speeds();
    const promptMs = this.#prompt === undefined ? Infinity : this.#prompt.left / prompt;
    const [first] = this.#writing;
    const answerMs = first === undefined ? Infinity : (first.endsAt - this.#written) / answer;
    const ms = Math.max(0, Math.min(promptMs, answerMs));
    if (ms === Infinity) return;
    this.#timer = this.#clock.at(this.#clock.elapsedMs + ms, () => {
      this.#advance();
      if (promptMs <= answerMs) this.#promptEnds();
      else this.#answerEnds();
      this.#schedule();
    });
  }

  #takeUp(): void {
    const { maxBatch, memoryTokens } = this.#own;
    const [job] = this.#waiting;
    if (job === undefined || this.#prompt !== undefined || this.#writing.length >= maxBatch) return;
    // What is larger than all of the memory has to go through at some time.
    if (this.#held > 0 && this.#held + tokensOf(job) > memoryTokens) return;
    this.#waiting.shift();
    job.cachedTokens = this.#cache.tokens(job.blocks, job.promptTokens, this.#clock.elapsedMs);
    this.#held += tokensOf(job);
    this.#prompt = { job, left: job.promptTokens - job.cachedTokens };
  }

  #promptEnds(): void {
    const job = this.#prompt?.job;
    this.#prompt = undefined;
    if (job === undefined) return;
    this.#cache.use(job.blocks, this.#clock.elapsedMs);
    this.#cache.shrink(Math.max(0, Math.floor((this.#own.memoryTokens - this.#held) / BLOCK_TOKENS)));
    // The step that ends the prompt writes the first token.
    const endsAt = this.#written + Math.max(1, job.answerTokens) - 1;
    const place = this.#writing.findIndex((one) => one.endsAt > endsAt);
    this.#writing.splice(place < 0 ? this.#writing.length : place, 0, { job, endsAt });
    job.onFirstToken();
  }

  #answerEnds(): void {
    const job = this.#writing.shift()?.job;
    if (job === undefined) return;
    this.#held -= tokensOf(job);
    job.onEnd();
  }
}

function tokensOf({ promptTokens, answerTokens }: InferenceJob): number {
  return promptTokens + answerTokens;
}
