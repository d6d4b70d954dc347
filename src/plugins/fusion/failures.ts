import type { ToolOutcome } from '../../core/pipeline/server-tool.ts';
import { RouterError } from '../../errors.ts';
import type { ErrorType } from '../../protocol/error.ts';
import type { LostMember } from './panel.ts';

/** Why fusion gave nothing (gaps 5.10). */
export type FusionFailure =
  | 'all_panels_failed'
  | 'insufficient_credits'
  | 'rate_limited'
  | 'fusion_invocation_capped'
  | 'unexpected_error';

/** The result of a call that came to nothing, for the model. */
export function failedCall(reason: FusionFailure, error: string, lost: readonly LostMember[] = []): ToolOutcome {
  return {
    result: {
      status: 'error',
      error,
      failure_reason: reason,
      ...(lost.length === 0 ? {} : { failed_models: lostModels(lost) }),
    },
  };
}

/** Why a panel without a single answer failed. */
export function reasonOfLoss(lost: readonly LostMember[]): FusionFailure {
  if (lost.every(({ status }) => status === 429)) return 'rate_limited';
  return lost.every(({ status }) => status === 402) ? 'insufficient_credits' : 'all_panels_failed';
}

const STATUSES: Readonly<Partial<Record<FusionFailure, readonly [status: number, type: ErrorType]>>> = {
  rate_limited: [429, 'rate_limit_exceeded'],
  insufficient_credits: [402, 'payment_required'],
};

/** The error of a request that is nothing without its panel. */
export function errorOfLoss(reason: FusionFailure, message: string, lost: readonly LostMember[]): RouterError {
  const [status, errorType] = STATUSES[reason] ?? [502, 'provider_unavailable'];
  return new RouterError({
    status,
    errorType,
    message,
    metadata: { failure_reason: reason, failed_models: lostModels(lost) },
  });
}

/** Who was lost, for results, stages and errors. */
export function lostModels(lost: readonly LostMember[]): { readonly model: string; readonly error: string }[] {
  return lost.map(({ model, error }) => ({ model, error }));
}
