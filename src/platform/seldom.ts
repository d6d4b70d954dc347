/** Limits how often the same warning is printed. */
import type { Environment } from './environment.ts';

/** Milliseconds in which the same words are told once. */
const QUIET_MS = 60_000;

/** Tells each text at most once a minute: a database that is gone is one piece of news, not one per try to reach it. */
export function seldom({ now }: Pick<Environment, 'now'>, tell: (text: string) => void): (text: string) => void {
  const toldAt = new Map<string, number>();
  return (text) => {
    const time = now();
    for (const [old, at] of toldAt) if (time - at >= QUIET_MS) toldAt.delete(old);
    if (toldAt.has(text)) return;
    toldAt.set(text, time);
    tell(text);
  };
}
