import { useEffect, useState } from 'preact/hooks';
import { ask, session } from './api.ts';

/** What was asked for, as far as it is there. */
interface Asked<Answer> {
  readonly answer: Answer | undefined;
  /** Why there is none, or none that is up to date. */
  readonly problem: Error | undefined;
}

/**
 * Asks the API, and again every so many milliseconds while the page can be seen. The answer before stays until the next
 * is there, so that nothing jumps.
 */
export function useAsked<Answer>(
  path: string | undefined,
  everyMs?: number,
): Asked<Answer> & { readonly again: () => void } {
  const [state, setState] = useState<Asked<Answer> & { readonly path: string | undefined }>({
    path,
    answer: undefined,
    problem: undefined,
  });
  const [round, setRound] = useState(0);
  const { value: signIns } = session;
  useEffect(() => {
    if (path === undefined) return;
    let over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const turn = async (): Promise<void> => {
      if (!document.hidden) {
        try {
          const answer = await ask<Answer>(path);
          if (!over) setState({ path, answer, problem: undefined });
        } catch (error) {
          if (!over)
            setState((before) => ({
              path,
              answer: before.path === path ? before.answer : undefined,
              problem: error as Error,
            }));
        }
      }
      if (!over && everyMs !== undefined) timer = setTimeout(() => void turn(), everyMs);
    };
    void turn();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [path, everyMs, round, signIns]);
  return {
    answer: state.path === path ? state.answer : undefined,
    problem: state.problem,
    again: () => setRound((one) => one + 1),
  };
}
