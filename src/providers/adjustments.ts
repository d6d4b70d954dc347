/** Sentences about what a provider's record changed in a request, for `router_metadata.attempts[].adjustments`. */

/** Takes a sentence about a change. */
export type Note = (change: string) => void;

/** For bodies of which nobody wants to know what was changed: counts of tokens, and batches. */
export const UNNOTED: Note = () => {};

/** A parameter that is not sent. */
export function leftOut(name: string): string {
  return `${name} was left out, because the model does not take it`;
}

/** A number that is sent lower, or higher, than requested. */
export function limited(name: string, sent: number): string {
  return `${name} was set to ${sent}, the nearest that the model takes`;
}

/** An effort that is sent in place of another one. */
export function nearest(name: string, sent: string | undefined): string {
  return sent === undefined
    ? `${name} was left out, because the model takes none that is near`
    : `${name} was set to ${sent}, the nearest that the model takes`;
}

/** Schemas that are said in other words. */
export function rewritten(places: readonly string[]): string {
  const shown = places.length > MOST_PLACES ? [...places.slice(0, MOST_PLACES), '…'] : places;
  return `The schema of ${shown.join(', ')} was rewritten in words that the provider takes`;
}

/** Places that one sentence names. */
const MOST_PLACES = 8;

/** A schema to which the provider cannot hold what the model writes. */
export function notHeld(where: string): string {
  return `${where} is not strict, because the provider cannot hold the model to its schema`;
}

/** What becomes of the schemas of a request's tools: one sentence for all that were rewritten. */
export class ChangedSchemas {
  readonly #note: Note;
  #rewritten: string[] | undefined;

  constructor(note: Note) {
    this.#note = note;
  }

  /** Looks at the schema of a tool as it is sent, and passes it on. */
  seen<Sent extends { readonly parameters?: object; readonly strict?: boolean }>(
    index: number,
    parameters: object | null | undefined,
    strict: boolean | null | undefined,
    sent: Sent,
  ): Sent {
    if (parameters != null && sent.parameters !== undefined && sent.parameters !== parameters) {
      (this.#rewritten ??= []).push(`tools[${index}]`);
    }
    if (strict === true && sent.strict !== true) this.#note(notHeld(`tools[${index}]`));
    return sent;
  }

  /** Says what was rewritten. */
  end(): void {
    if (this.#rewritten !== undefined) this.#note(rewritten(this.#rewritten));
  }
}
