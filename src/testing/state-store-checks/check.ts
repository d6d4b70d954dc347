/** What the checks for state stores are made of. */
import type { StateStore } from '../../contracts/state-store.ts';

/** The store under check, as its author sets it up. */
export interface StateStoreHarness {
  /** Gives a store with nothing in it. Each check calls it once, and closes what it got. */
  readonly create: () => StateStore | Promise<StateStore>;
  /** Gives another store over the same data. Absent where data belongs to one process. */
  readonly attach?: (() => StateStore | Promise<StateStore>) | undefined;
  /** Lets so many milliseconds of the store's clock pass: at once where the clock can be set, else by waiting. */
  readonly pass: (ms: number) => Promise<void>;
  /** What can happen to the server behind a store. Absent where there is none, or where the author cannot do it. */
  readonly faults?: StateStoreFaults | undefined;
}

/** What can happen to the server behind a store. Each gives what ends it. */
export interface StateStoreFaults {
  /** The server stands still. What is sent to it meanwhile it gets when it goes on. */
  readonly freeze?: (() => Promise<() => Promise<void>>) | undefined;
  /** The server reads, and refuses changes. */
  readonly refuseWrites?: (() => Promise<() => Promise<void>>) | undefined;
  /** The server carries out what it is sent, and its answers get lost; in the end, so do the connections. */
  readonly loseAnswers?: (() => Promise<() => Promise<void>>) | undefined;
  /** Another server with the same data takes over at the address of the store; the old one only reads from then on. */
  readonly failOver?: (() => Promise<() => Promise<void>>) | undefined;
}

/** A check that every store for state must pass. */
export interface StateStoreCheck {
  /** What must hold, as a sentence. */
  readonly name: string;
  /** True when it only means something for data that several processes may use. */
  readonly needsSharing: boolean;
  /** The fault that it brings about; absent where it needs none. */
  readonly needsFault?: keyof StateStoreFaults | undefined;
  /** @throws Error that says what did not hold. */
  readonly run: (harness: StateStoreHarness) => Promise<void>;
}

/** Milliseconds that no check takes. */
export const LONG_MS = 600_000;
