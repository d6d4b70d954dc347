import type { MaybePromise } from '../platform/wait.ts';
import type { BatchCodecs } from './batch-codecs.ts';
import type { Codec } from './codec.ts';
import type { NativeBatches } from '../contracts/native-batches.ts';
import type { ProviderApi } from './provider-api.ts';

/** A codec that the first call loads, with what a router must know before. A program names more providers than it calls. */
export interface CodecOnFirstUse extends Pick<Codec, 'unsupported'> {
  /** Whether it writes embeddings, too. */
  readonly hasEmbeddings: boolean;
  readonly load: () => Promise<Codec>;
}

/** A batch API that the first call loads, with what a router must know before. */
export interface BatchesOnFirstUse extends Pick<NativeBatches, 'accepts' | 'priceFactor'> {
  /** Whether it finds a batch whose creation was not answered; see {@link NativeBatches.find}. */
  readonly findsLost: boolean;
  readonly load: () => Promise<(api: ProviderApi, codecs: BatchCodecs) => LoadedBatches>;
}

/** The calls of a batch API; what a router must know before is in {@link BatchesOnFirstUse}. */
export type LoadedBatches = Omit<NativeBatches, 'accepts' | 'priceFactor'>;

/** Gives what is loaded by the first call: a promise until then, the value itself afterwards. */
export function onFirstUse<Value extends object>(load: () => Promise<Value>): () => MaybePromise<Value> {
  let loaded: Value | undefined;
  let loading: Promise<Value> | undefined;
  const loadOnce = async (): Promise<Value> => {
    try {
      return (loaded = await load());
    } finally {
      // What failed may work the next time.
      loading = undefined;
    }
  };
  return () => loaded ?? (loading ??= loadOnce());
}

/** The codec of a provider, loaded or to be loaded. */
export function codecSource(codec: Codec | CodecOnFirstUse): () => MaybePromise<Codec> {
  return 'load' in codec ? onFirstUse(codec.load) : () => codec;
}

/** A batch API whose code is loaded by its first call. */
export function batchesOnFirstUse(
  { accepts, priceFactor, findsLost, load }: BatchesOnFirstUse,
  api: ProviderApi,
  codecs: () => Promise<BatchCodecs>,
): NativeBatches {
  let ready: LoadedBatches | undefined;
  const native = async (): Promise<LoadedBatches> => (ready ??= (await load())(api, await codecs()));
  return {
    accepts,
    priceFactor,
    ...(findsLost
      ? { find: async (lookup) => (await (await native()).find?.(lookup)) ?? { ok: true, value: undefined } }
      : {}),
    submit: async (submission) => (await native()).submit(submission),
    poll: async (call) => (await native()).poll(call),
    async *results(call) {
      yield* (await native()).results(call);
    },
    read(body, request, endpoint) {
      // Only what `results` gave is read.
      if (ready === undefined) throw new TypeError('results of a batch are read before they were asked for');
      return ready.read(body, request, endpoint);
    },
    cancel: async (call) => (await native()).cancel(call),
    remove: async (call) => (await native()).remove(call),
  };
}
