import type { JsonObject } from '../protocol/json.ts';

/** What an {@link ImageGenerator} is asked. */
export interface ImageRequest {
  readonly prompt: string;
  /** Model that the caller named, without a vendor in front. Default: the generator's own. */
  readonly model?: string | undefined;
  /** Size, quality and so on, in the words of OpenAI's images API; what a service does not know it may refuse. */
  readonly options: JsonObject;
  readonly signal: AbortSignal;
}

/** Images that were made. */
export interface GeneratedImages {
  /** Data URLs or http(s) URLs. */
  readonly urls: readonly string[];
  /** US dollars; undefined when unknown. */
  readonly cost?: number | undefined;
}

/** A service outside this router that makes images. */
export interface ImageGenerator {
  readonly id: string;
  /** @throws {@link RouterError} when there is no image; its text is read by the model that asked. */
  generate(request: ImageRequest): Promise<GeneratedImages>;
  /** Frees what it holds. May be called more than once. */
  close?(): Promise<void>;
}
