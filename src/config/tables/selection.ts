import { option, type OptionTable, type ResolvedOf } from '../option.ts';

/** Choices of the embedding program about the selection of endpoints. */
export const SELECTION = {
  /**
   * What to do with a capability that nobody declared: `allow` sends the request and lets the provider decide,
   * `exclude` treats it as absent. Default `allow`.
   */
  unknownCapability: option.word(['allow', 'exclude'], { default: 'allow' }),
  /**
   * `exclude`: no endpoint without tool support gets a request with tools. `prefer`: it may, when nobody has it.
   * Default `exclude`.
   */
  toolSupport: option.word(['exclude', 'prefer'], { default: 'exclude' }),
} satisfies OptionTable;

/** Choices of the embedding program about selection. */
export interface SelectionPolicy extends ResolvedOf<typeof SELECTION> {}
