import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

/** A disk of a few megabytes that can be filled to its last byte. */
export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Takes all the room that is left. */
  fill(): void;
  /** Gives it back. */
  free(): void;
}

/** Mounts a {@link SmallDisk}; undefined where this user may not mount anything. */
export function smallDisk(
  megabytes: number,
  owner?: { readonly uid?: number; readonly gid?: number },
): SmallDisk | undefined {
  const folder = temporaryFolder();
  const rights = owner?.uid === undefined ? '' : `,uid=${owner.uid},gid=${owner.gid}`;
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m${rights}`, 'tmpfs', folder.path];
    execFileSync('mount', options, { stdio: 'ignore' });
  } catch {
    folder[Symbol.dispose]();
    return undefined;
  }
  const filler = join(folder.path, 'filler');
  return {
    path: folder.path,
    fill() {
      const handle = openSync(filler, 'w');
      // The last bytes are taken by smaller and smaller pieces.
      for (let bytes = 65_536; bytes >= 1; bytes = Math.floor(bytes / 4)) {
        const piece = Buffer.alloc(bytes);
        try {
          for (;;) writeSync(handle, piece);
        } catch {
          // There is no room for a piece of this size.
        }
      }
      closeSync(handle);
    },
    free: () => rmSync(filler),
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', folder.path], { stdio: 'ignore' });
      folder[Symbol.dispose]();
    },
  };
}
