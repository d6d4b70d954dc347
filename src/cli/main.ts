#!/usr/bin/env node
import process from 'node:process';
import { runCommand } from './run.ts';

void runCommand(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
  folder: process.cwd(),
  now: () => Date.now(),
}).then((code) => {
  process.exitCode = code;
});
