/** Public surface: what a provider of your own is made of. */
export { failedReply } from '../providers/provider-reply.ts';
export type { CallProgress, EmbeddingCall, Provider, ProviderCall } from '../providers/provider.ts';
export type { EmbeddingReply, PieceStream, ProviderReply } from '../providers/provider-reply.ts';
export type { Catalog } from '../catalog/catalog.ts';
export { failure } from '../core/fallback/failure.ts';
export type { AttemptFailure, FailureKind } from '../core/fallback/failure.ts';
export type { NormalizedEmbeddingRequest } from '../core/normalize/normalized-embedding-request.ts';
export type { ModelTarget, Needs, NormalizedRequest, RoutedRequest } from '../core/normalize/normalized-request.ts';
export type {
  DeltaPiece,
  EndPiece,
  FactsPiece,
  FailurePiece,
  FinishPiece,
  ReportedUsage,
  StreamPiece,
  UsagePiece,
} from '../core/stream/pieces.ts';
export type { UpstreamEmbeddings } from '../core/embeddings/upstream-embeddings.ts';
export type { UpstreamResult } from '../core/stream/upstream-result.ts';
export type { Transport, TransportRequest, TransportResponse } from '../providers/transport/transport.ts';
