/** Calls the listeners of a router. */
import type { RequestFollower } from './request-follower.ts';
import type { WarningEvent, RouterEvents, RouterListener, RouterEventSource } from '../../contracts/events.ts';

/** Calls listeners. Costs nothing where nobody listens: events are only built when {@link EventHub.heard} says so. */
export class EventHub implements RouterEventSource {
  readonly #listeners = new Map<keyof RouterEvents, Set<(event: never) => void>>();
  /** Those who follow requests without events. */
  followers: readonly RequestFollower[] = [];
  /** False where nobody listens or follows: then whoever would tell of something need not even look for whom. */
  isHeard = false;
  /** Who keeps warnings beside those who listen: it does not keep them from the console. */
  warned: ((warning: WarningEvent) => void) | undefined;

  /** Adds a listener and gives the function that removes it. */
  on<Name extends keyof RouterEvents>(name: Name, listener: RouterListener<Name>): () => void {
    let listeners = this.#listeners.get(name);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(name, listeners);
    }
    listeners.add(listener);
    this.isHeard = true;
    if (name === 'content') warn(this, CONTENT);
    return () => {
      listeners.delete(listener);
      this.#lookWhoIsLeft();
    };
  }

  /** Adds one of them and gives the function that removes it. */
  follow(follower: RequestFollower): () => void {
    this.followers = [...this.followers, follower];
    this.isHeard = true;
    return () => {
      this.followers = this.followers.filter((one) => one !== follower);
      this.#lookWhoIsLeft();
    };
  }

  #lookWhoIsLeft(): void {
    const listens = [...this.#listeners.values()].some((listeners) => listeners.size > 0);
    this.isHeard = listens || this.followers.length > 0;
  }

  heard(name: keyof RouterEvents): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof RouterEvents>(name: Name, event: RouterEvents[Name]): void {
    if (name === 'warning') this.warned?.(event as WarningEvent);
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const returned: unknown = (listener as RouterListener<Name>)(event);
        if (returned instanceof Promise) returned.catch(ignore);
      } catch {
        // A listener observes; it must not be able to break a request.
      }
    }
  }
}

function ignore(): void {}

const CONTENT = {
  code: 'content_recorded',
  message: 'Prompts, answers, and arguments and results of tools are given to a listener or to traces',
} as const;

/** Warns the operator of something that must not go unheard: by event, or on the console when nobody listens. */
export function warn(events: EventHub, warning: WarningEvent): void {
  if (!events.heard('warning')) console.warn(`signalbox: ${warning.message}`);
  events.emit('warning', warning);
}
