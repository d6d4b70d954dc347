#!/usr/bin/env node
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { runCommand } from './run.ts';

/** True while the last line may be written over. */
let open = false;

function close(): void {
  if (open) process.stderr.write('\n');
  open = false;
}

void runCommand(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  complain(line) {
    close();
    process.stderr.write(`${line}\n`);
  },
  progress(line) {
    open = process.stderr.isTTY;
    process.stderr.write(open ? `\r\x1B[K${line}` : `${line}\n`);
  },
  wait: (ms) => setTimeout(ms),
  environment: process.env,
  folder: process.cwd(),
  now: () => Date.now(),
}).then((code) => {
  close();
  process.exitCode = code;
});
