/** The codecs of a provider: which one a request is written by, and what its batch API has of them. */
import type { NativeBatches } from '../contracts/native-batches.ts';
import type { NativeRequest } from '../contracts/request.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import {
  type BatchCodecs,
  type BatchesOnFirstUse,
  batchesOnFirstUse,
  type Codec,
  type CodecOnFirstUse,
  codecSource,
  type OnFirstUse,
} from './codec.ts';
import type { ProviderApi } from './provider-api.ts';

/** Codecs for callers with requests in an API format that a provider supports natively. */
export type ApiFormatCodecs = Readonly<Partial<Record<ApiFormatName, Codec | CodecOnFirstUse>>>;

/** A provider's own batch API. */
export type BatchesOption = ((api: ProviderApi, codecs: BatchCodecs) => NativeBatches) | BatchesOnFirstUse;

/** The codecs of a provider: its own, and those for requests in an API format that it supports natively. */
export class ProviderCodecs {
  readonly #own: Codec | CodecOnFirstUse;
  readonly #natives: readonly (readonly [apiFormat: string, codec: Codec | CodecOnFirstUse])[];
  /** The provider's own, for everything that comes in no such format. */
  readonly main: OnFirstUse<Codec>;
  readonly #sources: ReadonlyMap<string, OnFirstUse<Codec>>;

  constructor(own: Codec | CodecOnFirstUse, natives: ApiFormatCodecs) {
    this.#own = own;
    this.#natives = Object.entries(natives);
    this.main = codecSource(own);
    this.#sources = new Map(this.#natives.map(([apiFormat, codec]) => [apiFormat, codecSource(codec)]));
  }

  /** Where the codec for a request is that came in an API format. */
  sourceFor({ apiFormat }: Pick<NativeRequest, 'apiFormat'>): OnFirstUse<Codec> {
    return this.#sources.get(apiFormat) ?? this.main;
  }

  /** All of them, loaded: a batch has requests in any of them. */
  async load(): Promise<BatchCodecs> {
    const main = await this.main.load();
    const natives = new Map<string, Codec>();
    for (const [apiFormat, source] of this.#sources) natives.set(apiFormat, await source.load());
    return codecsOf(main, natives);
  }

  /** The same where none has to be loaded first. */
  get loaded(): BatchCodecs {
    const natives = this.#natives.map(([apiFormat, codec]) => [apiFormat, loadedCodec(codec)] as const);
    return codecsOf(loadedCodec(this.#own), new Map(natives));
  }
}

/** The batch API of a provider, which is loaded by its first call where it is not there. */
export function batchesOf(batches: BatchesOption, api: ProviderApi, codecs: ProviderCodecs): NativeBatches {
  if (typeof batches !== 'function') return batchesOnFirstUse(batches, api, () => codecs.load());
  return batches(api, codecs.loaded);
}

function codecsOf(main: Codec, natives: ReadonlyMap<string, Codec>): BatchCodecs {
  return {
    codecFor(request, endpoint) {
      const { native } = request;
      const codec = (native === undefined ? undefined : natives.get(native.apiFormat)) ?? main;
      return codec.insteadFor?.(request, endpoint) ?? codec;
    },
    embeddings: main.embeddings,
  };
}

function loadedCodec(codec: Codec | CodecOnFirstUse): Codec {
  if (!('load' in codec)) return codec;
  throw new TypeError('where the codec is loaded on first use, `batches` must be, too');
}
