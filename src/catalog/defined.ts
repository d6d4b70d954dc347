/** Fields of which those that are there have a value. */
export type Defined<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that have a value: one that is there and undefined says nothing. */
export function defined<Fields extends object>(fields: Fields | undefined): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
