/** Limits how often the same warning is printed. */
import type { Environment } from './environment.ts';

/** Milliseconds in which the same words are told once. */
const QUIET_MS = 60_000;

/** Tells each text at most once a minute: a database that is gone is one piece of news, not one per try to reach it. */
export function seldom({ now }: Pick<Environment, 'now'>, warn: (text: string) => void): (text: string) => void {
  const notifiedAt = new Map<string, number>();
  return (text) => {
    const time = now();
    for (const [old, at] of notifiedAt) if (time - at >= QUIET_MS) notifiedAt.delete(old);
    if (notifiedAt.has(text)) return;
    notifiedAt.set(text, time);
    warn(text);
  };
}
