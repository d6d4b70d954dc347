/** Something that is measured. */
export interface PluginCase {
  readonly name: string;
  /** One round of the work. */
  readonly run: () => unknown;
}
