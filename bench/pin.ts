import { execFileSync } from 'node:child_process';

/** Ties a process to one core, where the tool for it is there; without it the figures are noisier, not wrong. */
const [, , pid = '', core = ''] = process.argv;
try {
  execFileSync('taskset', ['-acp', core, pid], { stdio: 'ignore' });
} catch {
  // No taskset on this machine.
}
