/** Sentences about what a provider's record changed in a request, for `router_metadata.attempts[].adjustments`. */

/** Takes a sentence about a change. */
export type Note = (change: string) => void;

/** For bodies of which nobody wants to know what was changed: counts of tokens, and batches. */
export const UNNOTED: Note = () => {};

/** A parameter that is not sent. */
export function leftOut(name: string): string {
  return `${name} was left out, because the model does not take it`;
}

/** A number that is sent lower, or higher, than it was asked for. */
export function limited(name: string, sent: number): string {
  return `${name} was set to ${sent}, the nearest that the model takes`;
}

/** An effort that is sent in place of another one. */
export function nearest(name: string, sent: string | undefined): string {
  return sent === undefined
    ? `${name} was left out, because the model takes none that is near`
    : `${name} was set to ${sent}, the nearest that the model takes`;
}

/** A schema that is said in other words. */
export function rewritten(where: string): string {
  return `The schema of ${where} was rewritten in words that the provider takes`;
}

/** A schema to which the provider cannot hold what the model writes. */
export function notHeld(where: string): string {
  return `${where} is not strict, because the provider cannot hold the model to its schema`;
}
