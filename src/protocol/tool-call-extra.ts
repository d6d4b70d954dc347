/**
 * What a vendor wants back with a tool call, as clients of Google's own chat completions layer carry it. Only the vendor
 * that is named gets to see it.
 */
export interface ToolCallExtra {
  readonly google?: {
    /** Opaque; must come back unchanged with its call. */
    readonly thought_signature?: string | undefined;
  };
}
