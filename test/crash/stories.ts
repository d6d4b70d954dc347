import type { FailPoint } from '../../src/runtime/batches/ports.ts';

/** What a batch of the crash test goes through. Also the name of its model. */
export type Story = 'plain' | 'shared' | 'native' | 'cancel' | 'expire' | 'deferred';

/** Requests of a batch. One that is shared has so many that all processes run it together. */
export const SIZES: Readonly<Record<Story, number>> = {
  plain: 16,
  shared: 120,
  native: 12,
  cancel: 12,
  expire: 6,
  deferred: 4,
};

/** Stories that lead to places where the plain one does not. */
const WAYS: Readonly<Partial<Record<FailPoint, Story>>> = {
  'run.submitted': 'native',
  'run.expiring': 'expire',
  'stop.started': 'cancel',
  'stop.marked': 'cancel',
  'notify.deferred': 'deferred',
};

/** Story that leads to a place. */
export function storyTo(point: FailPoint): Story {
  return WAYS[point] ?? 'plain';
}

/** What the process that runs the test tells a worker. */
export type Order =
  | { readonly type: 'create'; readonly key: string; readonly story: Story }
  | { readonly type: 'cancel'; readonly id: string }
  /** Ends or pauses itself where it comes to this place next; without one it runs undisturbed. */
  | { readonly type: 'aim'; readonly point?: FailPoint; readonly action?: Action };

/** What happens to a worker. */
export type Action = 'kill' | 'pause';

/** How a worker is set up. */
export interface WorkerSetup {
  readonly store: 'sqlite' | 'postgres';
  /** What tells it of tasks; pg-boss needs PostgreSQL. */
  readonly queue: 'local' | 'pg-boss';
  /** File or connection string. */
  readonly where: string;
  /** Address of the upstream, which is also the receiver of webhooks. */
  readonly upstream: string;
  readonly leaseMs: number;
  /** True for the store that ignores the tokens of leases. */
  readonly unfenced: boolean;
}

/** Text of a request, by which the upstream knows it. */
export function textOf(key: string, index: number): string {
  return `${key}/${index}`;
}
