/** What a call of a provider comes to: a response or a stream of pieces. */
import type { AttemptFailure } from './failure.ts';
import type { StreamPiece, UpstreamEmbeddings, UpstreamResult } from './stream-piece.ts';

/** The pieces of a stream, as they come. */
export interface PieceStream {
  /**
   * The pieces that arrived since the last call, waiting for some if there are none; undefined at the end.
   * An empty list means that bytes came which mean nothing by themselves, such as a keep-alive comment.
   * Failures of the connection come as a piece; a rejection counts as a fault of the adapter.
   */
  read(): Promise<readonly StreamPiece[] | undefined>;
  /** Ends the call and frees its connection. May be called more than once, and after the end. */
  cancel(): void;
}

/** How a provider answers. A non-streaming response to a request for a stream, and the reverse, is fine: the router converts. */
export type ProviderReply =
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'whole'; readonly result: UpstreamResult }
  | { readonly type: 'stream'; readonly stream: PieceStream };

/** How a provider answers a call for embeddings. */
export type EmbeddingReply =
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'embedded'; readonly result: UpstreamEmbeddings };
