/** Something that a guardrail looks for, found in a text. Holds no text, only where it stands. */
export interface GuardrailFinding {
  /** Name of the pattern or kind. */
  readonly pattern: string;
  /** UTF-16 units from the beginning of the text. */
  readonly start: number;
  readonly end: number;
}
