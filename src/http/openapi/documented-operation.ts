/** One operation of the document, and where it stands. */
export interface DocumentedOperation {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly path: string;
  readonly operation: object;
}
