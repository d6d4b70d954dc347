import type { JSX } from 'preact';

/** What went wrong while something was asked for. */
export function Problem({ problem }: { readonly problem: Error | undefined }): JSX.Element | null {
  return problem === undefined ? null : (
    <p class="problem" role="alert">
      ✕ {problem.message}
    </p>
  );
}
