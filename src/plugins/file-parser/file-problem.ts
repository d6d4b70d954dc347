import { RouterError } from '../../errors.ts';

/** The error for a file that cannot be used: 400, or 413 for one that is too large. */
export function fileProblem(path: string, problem: string, status: 400 | 413 = 400): RouterError {
  return new RouterError({
    status,
    errorType: status === 413 ? 'payload_too_large' : 'invalid_request',
    message: `${path} ${problem}`,
    metadata: { path },
  });
}
