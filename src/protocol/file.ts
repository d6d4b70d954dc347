/** A file as callers see it: the shape of OpenAI's files. */
export interface FileObject {
  /** `file-…` */
  readonly id: string;
  readonly object: 'file';
  readonly bytes: number;
  /** Unix seconds. */
  readonly created_at: number;
  /** Unix seconds. */
  readonly expires_at: number;
  readonly filename: string;
  /** `batch`: requests that were uploaded. `batch_output`: what became of the requests of a batch. */
  readonly purpose: 'batch' | 'batch_output';
  /** Uploaded files are checked when a batch is made of them. */
  readonly status: 'processed';
}

/** A page of files, newest first. */
export interface FileList {
  readonly object: 'list';
  readonly data: readonly FileObject[];
  readonly first_id: string | null;
  /** For `after` of the next page. */
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** A file that was deleted. */
export interface DeletedFile {
  readonly id: string;
  readonly object: 'file';
  readonly deleted: true;
}
