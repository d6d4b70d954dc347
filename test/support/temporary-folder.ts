import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty folder that is gone after the test. */
export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** Path of a file in it. */
  file(name: string): string;
}

/** Makes a {@link TemporaryFolder}. */
export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-test-'));
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
